#include "tapegrad/nn/layers/norm.h"

#include <cmath>

#include "tapegrad/core/options.h"
#include "tapegrad/nn/layers/norms/internal/norms.h"
#include "tapegrad/nn/pytorch.h"
#include "tapegrad/ops/affine.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

thread_local AroundNorms* around_norms = nullptr;

}  // namespace

NormFields NormMethod::fields(const Shape& shape, Channels where) const {
  return both({.axes = norms::axes_of_sample(shape, where)});
}

Tensor NormMethod::compute(const Tensor& x, const Norm& norm, Index /*step*/, Mode /*mode*/) const {
  return normalize(x, norm.fields_of(x.shape()), norm.spec.statistics, norm.smoothing);
}

Norm::Norm(const NormSpec& s, Index channels, Channels where)
    : spec(s), where_(where), channels_(channels) {
  const NormMethod& method = *spec.method;
  expect<ArgumentError>(!method.needs_positions || where == Channels::second,
                        "norm: {} needs the positions of images: features have none", method.noun);
  expect_positive("norm", "channels", channels);
  spec.expect_possible();
  expect<ArgumentError>(channels % method.parts() == 0, "norm: {} groups do not divide {} channels",
                        method.parts(), channels);
  if (!method.normalizes) return;
  const Shape shape = where == Channels::second ? Shape{channels, 1, 1} : Shape{channels};
  if (spec.affine) gain = Parameter(full(shape, spec.gain));
  if (spec.affine && spec.bias) bias = Parameter(zeros(shape));
  if (spec.learned_smoothing) smoothing = Parameter(Tensor(std::sqrt(spec.statistics.epsilon)));
  buffers = method.buffers(shape);
}

Norm Norm::of_steps(const NormSpec& spec, Index channels) {
  Norm norm(spec, channels);
  const Index steps = spec.method->steps();
  if (steps > 0) norm.buffers = spec.method->buffers({steps, channels});
  return norm;
}

Tensor Norm::epsilon() const {
  return smoothing.defined() ? square(smoothing) : Tensor(spec.statistics.epsilon);
}

Tensor Norm::at_step(const Tensor& x, Index step, Mode mode, Place place) const {
  const OperationScope scope("norm", place, x);
  const NormMethod& method = *spec.method;
  if (!method.normalizes && !AroundNorms::active()) return x;
  const bool images = where_ == Channels::second;
  expect(images ? x.rank() == 3 || x.rank() == 4 : x.rank() >= 1, "norm: {} is not the shape of {}",
         x.shape(), images ? "images (N, C, H, W) or signals (N, C, L)" : "features (..., C)");
  expect(where_ != Channels::features || x.rank() <= 3,
         "norm: {} may be images (N, C, H, W) or features (..., C); choose Channels::second or "
         "Channels::last",
         x.shape());
  expect(x.shape()[images ? 1 : -1] == channels_, "norm: needs {} channels, on axis {}: {}",
         channels_, images ? 1 : x.rank() - 1, x.shape());
  if (images && x.rank() == 3)  // treat a signal as an image one element wide
    return reshape(at_step(reshape(x, x.shape().insert(3, 1)), step, mode), x.shape());
  const Tensor shift = bias.defined() ? Tensor(bias) : Tensor();
  const bool of_features = gain.defined() && gain.shape().rank() == 1;
  if (of_features && method.is_of_rows() && !smoothing.defined() && !AroundNorms::active())
    return affine_norm(x, fields_of(x.shape()), gain, shift, spec.statistics);
  Tensor y = AroundNorms::run(
      *this, x, [&](const Tensor& in) { return method.compute(in, *this, step, mode); });
  if (of_features) return affine(y, gain, shift);
  if (gain.defined()) y = y * gain;  // for images, one factor per plane
  return shift.defined() ? y + shift : y;
}

void Norm::visit(Fields& field) const {
  field.norm(identity());
  field("gain", gain);
  field("bias", bias);
  field("smoothing", smoothing);
  for (const NamedBuffer& each : buffers) field(each.name.c_str(), each.buffer);
}

void Norm::pytorch(PyTorchState& state) const {
  if (smoothing.defined()) state.no_counterpart("a norm with a learned smoothing term");
  if (spec.method->unlike_pytorch != nullptr) state.no_counterpart(spec.method->unlike_pytorch);
  if (spec.statistics.identity_forward) state.no_counterpart("a norm with forward=identity");
  state.reshaped("weight", gain, {gain.shape().size()});
  state.reshaped("bias", bias, {bias.shape().size()});
  for (const auto& [name, buffer] : buffers)
    state.reshaped(name == "running_variance" ? "running_var" : name, buffer,
                   {buffer.value().size()});
  // PyTorch counts steps for other kinds of averages
  if (!buffers.empty()) state.skipped("num_batches_tracked");
}

AroundNorms::AroundNorms(Around around)
    : around_(std::move(around)), innermost_(around_norms, this) {
  expect<ArgumentError>(around_ != nullptr, "around_norms: the function is empty");
}
bool AroundNorms::active() { return around_norms != nullptr; }
Tensor AroundNorms::around(const Norm& norm, const Tensor& x, const Apply& apply) {
  const Tensor y = around_norms->around_(norm, x, apply);
  expect(y.defined(), "around_norms: the function returned an undefined tensor for {}", x.shape());
  return y;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
