#include "tapegrad/nn/layers/norms/internal/norms.h"

namespace tapegrad::TAPEGRAD_SCALAR::norms {

// Ren et al. 2017: along the channels, or on images over all channels of near positions.
struct Divisive : NormMethod {
  std::optional<Index> radius;

  Divisive() : NormMethod("divisive") { takes_forms = true; }
  NormFields fields(const Shape& shape, Channels where) const override {
    if (where != Channels::second) return both({.window = {-1}, .radius = radius.value_or(8)});
    return both({.axes = {1}, .window = axes_from(2, shape.rank()), .radius = radius.value_or(2)});
  }
  void expect_possible(const NormOptions& statistics) const override {
    expect<ArgumentError>(statistics.variance == Variance::biased,
                          "norm: the variance over a window must be biased: unbiased is 1");
  }
  Setters setters() override { return {{"radius", set(radius, count)}}; }
};
std::unique_ptr<NormMethod> divisive() { return std::make_unique<Divisive>(); }

}  // namespace tapegrad::TAPEGRAD_SCALAR::norms
