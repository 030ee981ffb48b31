#include "tapegrad/nn/layers/norm.h"

#include <algorithm>
#include <cmath>

#include "tapegrad/core/error.h"
#include "tapegrad/nn/files/pytorch.h"
#include "tapegrad/nn/options.h"
#include "tapegrad/ops/affine.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/recompute.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// All axes but that of the channels.
std::vector<int> other_axes(const Shape& shape, Channels where) {
  const int channels = where == Channels::second ? 1 : shape.rank() - 1;
  std::vector<int> axes;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (axis != channels) axes.push_back(axis);
  return axes;
}

std::vector<int> from(int first, int rank) {
  std::vector<int> axes;
  for (int axis = first; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

thread_local AroundNorms* around_norms = nullptr;

}  // namespace

Norm::Norm(const NormSpec& s, Index channels, Channels where)
    : spec(s), where_(where), channels_(channels) {
  expect<ArgumentError>(
      spec.kind != NormKind::instance || where == Channels::second,
      "norm: instance normalization needs the positions of images: features have none");
  expect_positive("norm", "channels", channels);
  spec.expect_possible();
  const bool grouped = spec.kind == NormKind::group || spec.kind == NormKind::whiten;
  expect<ArgumentError>(!grouped || channels % spec.groups == 0,
                        "norm: {} groups do not divide {} channels", spec.groups, channels);
  if (spec.kind == NormKind::none) return;
  const Shape shape = where == Channels::second ? Shape{channels, 1, 1} : Shape{channels};
  if (spec.affine) gain = Parameter(full(shape, spec.gain));
  if (spec.affine && spec.bias) bias = Parameter(zeros(shape));
  if (spec.learned_smoothing) smoothing = Parameter(Tensor(std::sqrt(spec.statistics.epsilon)));
  if (spec.kind == NormKind::batch) {
    running_mean = Buffer(zeros(shape));
    running_variance = Buffer(ones(shape));
  }
  if (spec.kind == NormKind::whiten) {
    const Index size = channels / spec.groups;
    running_mean = Buffer(zeros(shape));
    running_whitening = Buffer(broadcast_to(eye(size), {spec.groups, size, size}));
  }
}

NormFields Norm::fields_of(const Shape& shape) const {
  const int rank = shape.rank();
  const bool images = where_ == Channels::second;
  const std::vector<int> all = images ? from(1, rank) : std::vector<int>{-1};
  switch (spec.kind) {
    case NormKind::rms:
      return {.center = {}, .scale = {.axes = all, .share = spec.share}};
    case NormKind::batch:
    case NormKind::whiten:
      return both({.axes = other_axes(shape, where_)});
    case NormKind::instance:
      return both({.axes = from(2, rank)});
    case NormKind::group:
      return both({.axes = all, .groups = spec.groups});
    case NormKind::divisive:
      if (images)
        return both(
            {.axes = {1}, .window = from(2, rank), .radius = spec.radius > 0 ? spec.radius : 2});
      return both({.window = {-1}, .radius = spec.radius > 0 ? spec.radius : 8});
    case NormKind::none:
    case NormKind::layer:
    case NormKind::ada:
      break;
  }
  return both({.axes = images && spec.over_channels ? std::vector<int>{1} : all});
}

Norm Norm::of_steps(const NormSpec& spec, Index channels) {
  Norm norm(spec, channels);
  if (spec.kind != NormKind::batch) return norm;
  norm.running_mean = Buffer(zeros({spec.steps, channels}));
  norm.running_variance = Buffer(ones({spec.steps, channels}));
  return norm;
}

Tensor Norm::epsilon() const {
  return smoothing.defined() ? square(smoothing) : Tensor(spec.statistics.epsilon);
}

// Uses the batch's statistics in training, otherwise the running ones.
Tensor Norm::batch(const Tensor& x, Index step, Mode mode) const {
  const bool by_step = where_ != Channels::second && running_mean.value().rank() == 2;
  const auto now = [&](const Tensor& averages) {
    return by_step ? select(averages, std::min(step, averages.shape()[0] - 1)) : averages;
  };
  if (!mode.is_training()) {
    const Tensor variance = now(running_variance);
    const bool inside = spec.statistics.place == Epsilon::inside_root;
    return (x - now(running_mean)) /
           (inside ? sqrt(variance + epsilon()) : sqrt(variance) + epsilon());
  }
  if (!recomputing() && x.size() > 0) {
    const NoGrad no_grad;
    const Axes axes(other_axes(x.shape(), where_));
    const bool several = x.size() > now(running_mean).size();
    const auto update = [&](Buffer buffer, const Tensor& found) {
      const Tensor before = now(buffer);
      const Tensor after =
          (1 - spec.momentum) * before + spec.momentum * found.view(before.shape());
      if (!by_step) return buffer.set(after);
      const Tensor& all = buffer.value();
      const Index row = std::min(step, all.shape()[0] - 1);
      buffer.set(concat({slice(all, 0, 0, row), after.view(after.shape().insert(0, 1)),
                         slice(all, 0, row + 1, all.shape()[0])}));
    };
    update(running_mean, mean(x, axes));
    update(running_variance,
           var(x, axes, Keep::no, several ? Variance::unbiased : Variance::biased));
  }
  return normalize(x, fields_of(x.shape()), spec.statistics, smoothing);
}

Tensor Norm::at_step(const Tensor& x, Index step, Mode mode, Place place) const {
  const PlaceScope caller(place);
  expect_defined("norm", x);
  if (spec.kind == NormKind::none && !AroundNorms::active()) return x;
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
  const bool plain = (spec.kind == NormKind::layer || spec.kind == NormKind::rms) &&
                     !smoothing.defined() && !AroundNorms::active();
  if (of_features && plain)
    return affine_norm(x, fields_of(x.shape()), gain, shift, spec.statistics);
  Tensor y = AroundNorms::run(*this, x, [&](const Tensor& in) {
    if (spec.kind == NormKind::none) return in;
    if (spec.kind == NormKind::batch) return batch(in, step, mode);
    if (spec.kind == NormKind::whiten) return whiten(in, mode);
    const Tensor normalized = normalize(in, fields_of(in.shape()), spec.statistics, smoothing);
    return spec.kind == NormKind::ada ? ada_scale(normalized, spec.ada) : normalized;
  });
  if (of_features) return affine(y, gain, shift);
  if (gain.defined()) y = y * gain;  // for images, one factor per plane
  return shift.defined() ? y + shift : y;
}

void Norm::visit(Fields& field) const {
  field.norm(identity());
  field("gain", gain);
  field("bias", bias);
  field("smoothing", smoothing);
  field("running_mean", running_mean);
  field("running_variance", running_variance);
  field("running_whitening", running_whitening);
}

void Norm::pytorch(PyTorchState& state) const {
  if (smoothing.defined()) state.no_counterpart("a norm with a learned smoothing term");
  if (spec.kind == NormKind::whiten) state.no_counterpart("a norm that whitens");
  if (spec.statistics.identity_forward) state.no_counterpart("a norm with forward=identity");
  state.reshaped("weight", gain, {gain.shape().size()});
  state.reshaped("bias", bias, {bias.shape().size()});
  if (!running_mean.value().defined()) return;
  state.reshaped("running_mean", running_mean, {running_mean.value().size()});
  state.reshaped("running_var", running_variance, {running_variance.value().size()});
  state.skipped("num_batches_tracked");  // PyTorch counts steps for other kinds of averages
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
