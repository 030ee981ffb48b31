#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tapegrad/nn/layers/layer.h"
#include "tapegrad/ops/norm.h"
#include "tapegrad/ops/recompute.h"

namespace tapegrad::TAPEGRAD_SCALAR {

enum class NormKind { none, layer, ada, rms, batch, instance, group, divisive };

/// A normalization as data: which one, and its options. Made from a name with options, such as
/// "layer", "ada:c=1,k=0.1" or "layer:place=out,unbiased=1":
///
///   none
///   layer            Ba et al. 2016, with gain and bias; on images over channels and positions, or
///                    with over=channels over the channels of each position
///   layer_simple     the same without gain and bias (Xu et al. 2019, section 3.1)
///   detach, detach_mean, detach_variance   layer_simple with constant statistics (section 3.3)
///   ada              AdaNorm: c=1, k=0.1, detached=1 (section 4)
///   rms              over the root mean square, gain only; place=in, eps=1e-6 as in LLaMA,
///                    place=out as in Zhang and Sennrich 2019; p=1: the share of entries that it
///                    is taken over
///   batch            Ioffe and Szegedy 2015, with running averages: momentum=0.1; in recurrent
///                    layers for each step on its own, up to steps=100
///   instance         over the positions of each channel; images only
///   group            over groups of channels: groups=2
///   divisive         over a window: radius=8 along the channels, on images 2 around the position
///   weight           no normalization of activations; weights are gain v / |v| instead
///
/// For all: eps (inside the root, or with place=out outside), s (smoothing: eps = s^2), learn_s=1,
/// unbiased=1, affine (gain and bias), gain (its first value), weight=1 (normalized weights too).
struct NormSpec {
  NormKind kind = NormKind::none;
  NormOptions statistics = {};
  bool affine = true;
  bool bias = true;  ///< beside the gain
  double gain = 1;   ///< at first
  bool learned_smoothing = false;
  bool over_channels = false;  ///< layer on images: each position on its own
  AdaOptions ada = {};
  double share = 1;
  double momentum = 0.1;
  Index steps = 100;
  Index groups = 2;
  Index radius = 0;  ///< 0: the default of the place
  bool normalized_weights = false;

  NormSpec() = default;
  /// Throws ArgumentError, saying what there is, for names and options that do not exist, and for
  /// values outside an option's range. What is filled field by field, Norm checks.
  NormSpec(std::string_view text);
  NormSpec(const std::string& text) : NormSpec(std::string_view(text)) {}
  NormSpec(const char* text) : NormSpec(std::string_view(text)) {}
};
/// The names that a NormSpec can be made from.
std::vector<std::string> norm_names();

/// Where a tensor has its channels. `features` is (..., C) of at most three axes: where there are
/// four, it has to be said whether they are images, `second` (N, C, H, W), or not, `last` (..., C).
/// Signals (N, C, L) are `second` too.
enum class Channels { features, last, second };

/// A normalization at one place of a network, with its parameters and running averages.
///   x: (..., C), or (N, C, H, W) or (N, C, L)   gain, bias: (C), or (C, 1, 1)   returns: x's shape
/// Throws ArgumentError for a kind that does not fit the place, instance normalization of features,
/// for options outside their range, for channels below 1, and for groups that do not divide them;
/// and ShapeError when it meets four axes whose channels may be last or second.
struct Norm {
  NormSpec spec;
  Parameter gain, bias, smoothing;
  Buffer running_mean, running_variance;

  Norm(const NormSpec& spec, Index channels, Channels where = Channels::features);
  /// One whose running averages are those of each step of a sequence (Cooijmans et al. 2017).
  static Norm of_steps(const NormSpec& spec, Index channels);
  /// In training mode a batch normalization uses the batch and updates its running averages, of
  /// which the variance is unbiased; otherwise it uses them.
  Tensor operator()(const Tensor& x, Mode mode = {}) const { return at_step(x, 0, mode); }
  /// The same at one step of a sequence; from the last step with averages on, with those.
  Tensor at_step(const Tensor& x, Index step, Mode mode = {}) const;
  void visit(Fields& field) const;
  /// nn.LayerNorm, nn.BatchNorm2d and so on; not those with a learned smoothing term.
  void pytorch(PyTorchState& state) const;

  /// Over what it takes the statistics of a tensor of this shape.
  NormFields fields_of(const Shape& shape) const;
  /// The same for all copies of this norm, which share its parameters, and for nothing else.
  const void* identity() const { return identity_.get(); }

 private:
  Channels where_;
  std::shared_ptr<const int> identity_ = std::make_shared<const int>();
  Tensor batch(const Tensor& x, Index step, Mode mode) const;
};

/// While in scope, every normalization on this thread, `none` included, goes through a function:
/// for measurements (`probe`) and for penalties on activations. Fused recurrent layers take their
/// definition meanwhile. Around blocks that are recomputed it must last until the sweep, and what
/// it makes of their activations belongs to them: a penalty needs a stack without `recompute`.
class AroundNorms {
 public:
  /// The statistics part of a norm, before gain and bias.
  using Apply = std::function<Tensor(const Tensor& x)>;
  /// Gets the norm, its input and what the norm does; returns what the layer goes on with.
  using Around = std::function<Tensor(const Norm& norm, const Tensor& x, const Apply& apply)>;

  /// Throws ArgumentError for an empty function.
  explicit AroundNorms(Around around);
  static bool active();
  /// `apply(x)` by way of the function in scope, or as it is.
  template <class F>
  static Tensor run(const Norm& norm, const Tensor& x, const F& apply) {
    return active() ? around(norm, x, apply) : apply(x);
  }

 private:
  static Tensor around(const Norm& norm, const Tensor& x, const Apply& apply);

  ChangedComputation changed_;
  Around around_;
  Scoped<AroundNorms*> innermost_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
