#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tapegrad/core/error.h"
#include "tapegrad/io/named_options.h"
#include "tapegrad/nn/layers/layer.h"
#include "tapegrad/ops/normalize.h"
#include "tapegrad/ops/recompute.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct Norm;

/// The axis that holds the channels. `features` is (..., C) with at most three axes. With four
/// axes, say `second` for images (N, C, H, W) and `last` for (..., C). Signals (N, C, L) are also
/// `second`.
/// Example: `Norm("group:groups=3", 3, Channels::second)(images)`
enum class Channels { features, last, second };

/// What all normalizations have.
/// Example: `const NormSettings of_rms{.statistics = {.epsilon = 1e-6}, .bias = false}`
struct NormSettings {
  NormOptions statistics = {};
  bool affine = true;
  bool bias = true;  ///< in addition to the gain
  double gain = 1;   ///< its initial value
  bool learned_smoothing = false;
  bool normalized_weights = false;
};

/// A normalization: what it needs and computes, and the options that it alone has. Layers use this
/// interface and have no list of normalizations. Each is a struct in a file of nn/layers/norms/; a
/// program uses one of its own as `spec.method = std::make_shared<Mine>()`. The defaults suit a
/// normalization over all of an image, or over the channels of a position.
/// Example: `if (!NormSpec("rms").method->mixes_samples) fmt::print("rows stay apart\n")`
struct NormMethod {
  std::string name, noun = name + " normalization";  ///< in messages
  /// The names in texts, and the settings they stand for.
  std::vector<std::pair<std::string, NormSettings>> presets{{name, {}}};
  bool normalizes = true;                ///< "none" and "weight" leave activations unchanged
  bool needs_positions = false;          ///< works on images or signals only
  bool mixes_samples = false;            ///< in training, its statistics are the batch's
  bool takes_forms = false;              ///< forward=identity and factor=1: it is `normalize` alone
  const char* unlike_pytorch = nullptr;  ///< "a norm that ...", of which PyTorch has none

  explicit NormMethod(std::string called) : name(std::move(called)) {}
  virtual ~NormMethod() = default;
  /// The axes it normalizes over: of images (N, C, H, W) for `Channels::second`, or of (..., C).
  virtual NormFields fields(const Shape& shape, Channels where) const;
  /// The normalization, before gain and bias; it may update the buffers of `norm`, for this step of
  /// a sequence.   x: (N, C, H, W) or (..., C)   returns: x's shape
  virtual Tensor compute(const Tensor& x, const Norm& norm, Index step, Mode mode) const;
  /// Whether it is `layer_norm` or `rms_norm` on (..., C), which fused layers compute.
  virtual bool is_of_rows() const { return false; }
  /// Into how many equal groups it cuts the channels.
  virtual Index parts() const { return 1; }
  /// For how many steps of a sequence it can have separate buffers.
  virtual Index steps() const { return 0; }
  /// Its buffers at first, for this shape of the gain, or for (steps, C).
  virtual std::vector<NamedBuffer> buffers(const Shape& /*shape*/) const { return {}; }
  /// Throws ArgumentError for options that it cannot have, by themselves or with these.
  virtual void expect_possible(const NormOptions& /*statistics*/) const {}
  /// The options that it alone has; they refer to it.
  virtual OptionSetters setters() { return {}; }
};

/// A method that specs share; never null.
/// Example: `const NormMethodPointer own = NormSpec("rms").method; own->noun`
class NormMethodPointer {
 public:
  /// Throws ArgumentError for null.
  template <std::derived_from<NormMethod> Method>
  NormMethodPointer(std::shared_ptr<Method> method) : method_(std::move(method)) {
    expect<ArgumentError>(method_ != nullptr, "norm: its method must not be null");
  }
  NormMethodPointer(const NormMethodPointer&) = default;  // it is never moved from
  NormMethodPointer& operator=(const NormMethodPointer&) = default;

  const NormMethod* operator->() const { return method_.get(); }
  const NormMethod& operator*() const { return *method_; }

 private:
  std::shared_ptr<const NormMethod> method_;
};

/// Describes a normalization: its method and options. It can be made from text such as "layer",
/// "ada:c=1,k=0.1" or "layer:place=out,unbiased=1":
///
///   none
///   layer            Ba et al. 2016, with gain and bias; on images over channels and positions, or
///                    with over=channels over the channels of each position
///   layer_simple     the same without gain and bias (Xu et al. 2019, section 3.1)
///   detach, detach_mean, detach_variance   layer_simple with constant statistics (section 3.3)
///   ada              AdaNorm: c=1, k=0.1, detached=1 (section 4)
///   rms              divides by the root mean square, gain only; place=in, eps=1e-6 as in LLaMA,
///                    place=out as in Zhang and Sennrich 2019; p=1: the share of entries used
///   batch            Ioffe and Szegedy 2015, with running averages: momentum=0.1; in recurrent
///                    layers separate for each step, up to steps=100
///   instance         over the positions of each channel; images only
///   group            over groups of channels: groups=2
///   divisive         over a window: radius=8 along the channels, on images radius=2 in space
///   whiten           removes the correlations of the channels, too: IterNorm (Huang et al. 2019),
///                    in groups=1 of channels by iterations=5; running averages: momentum=0.1
///   weight           no normalization of activations; weights are gain v / |v| instead
///
/// layer, rms, instance, group, divisive and the forms without gain may take another value and
/// another factor of the gradient: forward=identity (the value is x, and the gradient the
/// normalization's) and factor=1 (the gradient is projected, but not divided by the deviation).
/// layer_simple, detach, detach_mean and detach_variance with these are the sixteen forms of layer
/// normalization.
///
/// Options of all: eps (inside the root, or outside with place=out), s (smoothing: eps = s^2),
/// learn_s=1, unbiased=1, affine (gain and bias), gain (its initial value), weight=1 (weight
/// normalization too).
/// Example: `Norm(NormSpec("ada:c=1,k=0.1"), 6)(x)`
struct NormSpec : NormSettings {
  NormMethodPointer method;

  NormSpec() : NormSpec("none") {}
  /// Throws ArgumentError for unknown names and options, listing the known ones, and for values out
  /// of range.
  NormSpec(std::string_view text) : NormSpec(parse(text)) {}
  NormSpec(const std::string& text) : NormSpec(std::string_view(text)) {}
  NormSpec(const char* text) : NormSpec(std::string_view(text)) {}
  /// Throws ArgumentError for values out of range, as Norm does.
  /// Example: `NormSpec("whiten:groups=2").expect_possible()`
  void expect_possible() const;

 private:
  NormSpec(const NormSettings& settings, const NormMethodPointer& of)
      : NormSettings(settings), method(of) {}
  static NormSpec parse(std::string_view text);
};
/// The names that NormSpec accepts.
/// Example: `for (const std::string& name : norm_names()) fmt::print("{}\n", name)`
std::vector<std::string> norm_names();

/// A normalization at one place of a network, with its parameters and buffers.
///   x: (..., C), or (N, C, H, W) or (N, C, L)   gain, bias: (C), or (C, 1, 1)   returns: x's shape
/// Throws ArgumentError for instance normalization of features, for options out of range, for
/// channels below 1, and for groups that do not divide the channels; ShapeError for other channels,
/// for `features` with four axes, whose channels may be last or second, and for channels of one
/// value, which its own mean would make 0: in instance normalization, and in batch normalization
/// and whitening in training.
/// Example: `Norm("layer", 6)(x)`
struct Norm {
  NormSpec spec;
  Parameter gain, bias, smoothing;
  std::vector<NamedBuffer> buffers;  ///< running averages: "running_mean", "running_variance"

  Norm(const NormSpec& spec, Index channels, Channels where = Channels::features);
  /// A norm with separate running averages for each step of a sequence (Cooijmans et al. 2017).
  static Norm of_steps(const NormSpec& spec, Index channels);
  /// In training mode, batch normalization and whitening use the statistics of the batch and update
  /// their running averages, of the unbiased variance and of the whitening matrix. A batch without
  /// elements leaves these unchanged. In evaluation mode they use the running averages.
  Tensor operator()(const Tensor& x, Mode mode = {}, Place place = Place::here()) const {
    return at_step(x, 0, mode, place);
  }
  /// Normalizes one step of a sequence. Later steps use the averages of the last step that has
  /// any. After step 0, a batch may have one row, since the other sequences may have ended.
  Tensor at_step(const Tensor& x, Index step, Mode mode = {}, Place = Place::here()) const;
  void visit(Fields& field) const;
  /// nn.LayerNorm, nn.BatchNorm2d and so on; not with a learned smoothing term.
  void pytorch(PyTorchState& state) const;

  /// The axes it normalizes over, for a tensor of this shape.
  NormFields fields_of(const Shape& shape) const { return spec.method->fields(shape, where_); }
  /// The smoothing term, learned or constant.
  Tensor epsilon() const;
  Channels where() const { return where_; }
  /// Equal for copies of this norm, which share its parameters, and for nothing else.
  const void* identity() const { return identity_.get(); }

 private:
  Channels where_;
  Index channels_;
  std::shared_ptr<const int> identity_ = std::make_shared<const int>();
};

/// While in scope, wraps every normalization on this thread, including `none`, in a function: for
/// measurements (`probe`) and for penalties on activations. Fused recurrent layers then compute
/// their definition. Around recomputed blocks, it must stay in scope until the sweep. Tensors that
/// the function derives from their activations cannot leave the block, so a penalty needs a stack
/// without `recompute`.
/// Example: `AroundNorms off([](const Norm&, const Tensor& in, auto&) { return in; }); net(x)`
class AroundNorms {
 public:
  /// The normalization itself, before gain and bias.
  using Apply = std::function<Tensor(const Tensor& x)>;
  /// Receives the norm, its input and the normalization; returns what the layer uses as its result.
  using Around = std::function<Tensor(const Norm& norm, const Tensor& x, const Apply& apply)>;

  /// Throws ArgumentError for an empty function.
  explicit AroundNorms(Around around);
  static bool active();
  /// `apply(x)`, through the function in scope if there is one.
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
