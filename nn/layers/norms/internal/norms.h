#pragma once

#include <utility>

#include "tapegrad/core/error.h"
#include "tapegrad/io/named_options.h"
#include "tapegrad/nn/layers/norm.h"
#include "tapegrad/ops/elementwise.h"

/// The list of all normalizations, and what their files share.
namespace tapegrad::TAPEGRAD_SCALAR::norms {

/// Makes a normalization with its default options.
using Make = std::unique_ptr<NormMethod>();
/// A new one is a file that defines this function, and its name in these two lines.
Make none, layer, ada, rms, batch, instance, group, divisive, whiten, weight;
inline constexpr Make* makers[]{none,     layer, ada,      rms,    batch,
                                instance, group, divisive, whiten, weight};

/// first, first + 1, ..., rank - 1
inline std::vector<int> axes_from(int first, int rank) {
  std::vector<int> axes;
  for (int axis = first; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}
/// All axes of an image, or the channels of a position.
inline std::vector<int> axes_of_sample(const Shape& shape, Channels where) {
  return where == Channels::second ? axes_from(1, shape.rank()) : std::vector{-1};
}

/// Throws ShapeError if each channel of an input of this shape has one value: that is its own mean,
/// so the result and its gradient would be 0. `advice` is what to do.
inline void expect_several_values(const NormMethod& method, const Shape& shape, Index channels,
                                  const char* advice) {
  expect(shape.size() == 0 || shape.size() != channels,
         "norm: {} needs more than one value per channel: {}; {}", method.noun, shape, advice);
}

/// Statistics of the batch in training, otherwise running averages of these.
struct Averaging : NormMethod {
  double momentum = 0.1;

  explicit Averaging(std::string called) : NormMethod(std::move(called)) { mixes_samples = true; }
  NormFields fields(const Shape& shape, Channels where) const override {
    std::vector<int> axes = axes_from(0, shape.rank());
    axes.erase(where == Channels::second ? axes.begin() + 1 : axes.end() - 1);
    return both({.axes = axes});
  }
  void expect_possible(const NormOptions&) const override {
    expect<ArgumentError>(momentum >= 0 && momentum <= 1, "norm: momentum must lie in [0, 1]: {}",
                          momentum);
  }
  /// Throws ShapeError for a batch of one value per channel in training. After the first step of
  /// sequences, all but one may have ended.
  void expect_batch(const Shape& shape, Index channels, Index step, Mode mode) const {
    if (step > 0 || !mode.is_training()) return;
    expect_several_values(*this, shape, channels,
                          "train with larger batches, or normalize each sample (layer, group)");
  }
  Tensor next_average(const Tensor& before, const Tensor& found) const {
    return (1 - momentum) * before + momentum * found.view(before.shape());
  }
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::norms
