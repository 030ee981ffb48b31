#include "tapegrad/nn/layers/norm.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "tapegrad/core/beginning.h"
#include "tapegrad/core/error.h"
#include "tapegrad/nn/files/pytorch.h"
#include "tapegrad/nn/options.h"
#include "tapegrad/ops/affine.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/recompute.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

NormSpec of_kind(NormKind kind, bool affine, bool bias = true) {
  NormSpec spec;
  spec.kind = kind;
  spec.affine = affine;
  spec.bias = bias;
  return spec;
}

NormSpec detached(bool mean, bool scale) {
  NormSpec spec = of_kind(NormKind::layer, false);
  spec.statistics.detach_mean = mean;
  spec.statistics.detach_scale = scale;
  return spec;
}

NormSpec rms_spec() {
  NormSpec spec = of_kind(NormKind::rms, true, false);
  spec.statistics.epsilon = 1e-6;
  return spec;
}

NormSpec weight_spec() {
  NormSpec spec;
  spec.normalized_weights = true;
  return spec;
}

const std::vector<std::pair<std::string, NormSpec>>& presets() {
  static const std::vector<std::pair<std::string, NormSpec>> list{
      {"none", {}},
      {"layer", of_kind(NormKind::layer, true)},
      {"layer_simple", of_kind(NormKind::layer, false)},
      {"detach", detached(true, true)},
      {"detach_mean", detached(true, false)},
      {"detach_variance", detached(false, true)},
      {"ada", of_kind(NormKind::ada, false)},
      {"rms", rms_spec()},
      {"batch", of_kind(NormKind::batch, true)},
      {"instance", of_kind(NormKind::instance, true)},
      {"group", of_kind(NormKind::group, true)},
      {"divisive", of_kind(NormKind::divisive, true)},
      {"weight", weight_spec()},
  };
  return list;
}

double number(std::string_view key, std::string_view value) {
  double result = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  expect<ArgumentError>(
      error == std::errc() && end == value.data() + value.size() && std::isfinite(result),
      "norm: {}={} is not a number", key, beginning(value));
  return result;
}

bool flag(std::string_view key, std::string_view value) {
  expect<ArgumentError>(value == "0" || value == "1", "norm: {}={}: must be 0 or 1", key,
                        beginning(value));
  return value == "1";
}

Index count(std::string_view key, std::string_view value) {
  const double result = number(key, value);
  expect<ArgumentError>(result >= 1 && result <= 1e6 && result == std::floor(result),
                        "norm: {}={}: must be a whole number of at least 1", key, beginning(value));
  return static_cast<Index>(result);
}

using Setter = void (*)(NormSpec&, std::string_view key, std::string_view value);
struct Option {
  std::vector<NormKind> kinds;  // kinds that accept it; empty: all that take statistics
  Setter set;
};

// One entry per option, so it is longer than other functions.
const std::map<std::string, Option, std::less<>>& options() {
  using S = NormSpec&;
  using V = std::string_view;
  static const std::map<std::string, Option, std::less<>> all{
      {"eps", {{}, [](S s, V k, V v) { s.statistics.epsilon = number(k, v); }}},
      {"s",
       {{},
        [](S s, V k, V v) {
          s.statistics.epsilon = std::pow(expect_not_negative("norm", "s", number(k, v)), 2);
        }}},
      {"learn_s", {{}, [](S s, V k, V v) { s.learned_smoothing = flag(k, v); }}},
      {"place",
       {{},
        [](S s, V k, V v) {
          expect<ArgumentError>(v == "in" || v == "out", "norm: {}={}: must be in or out", k,
                                beginning(v));
          s.statistics.place = v == "in" ? Epsilon::inside_root : Epsilon::outside_root;
        }}},
      {"unbiased",
       {{},
        [](S s, V k, V v) {
          s.statistics.variance = flag(k, v) ? Variance::unbiased : Variance::biased;
        }}},
      {"affine", {{}, [](S s, V k, V v) { s.affine = flag(k, v); }}},
      {"gain", {{}, [](S s, V k, V v) { s.gain = number(k, v); }}},
      {"weight", {{}, [](S s, V k, V v) { s.normalized_weights = flag(k, v); }}},
      {"over",
       {{NormKind::layer},
        [](S s, V k, V v) {
          expect<ArgumentError>(v == "channels" || v == "all",
                                "norm: {}={}: must be channels or all", k, beginning(v));
          s.over_channels = v == "channels";
        }}},
      {"c", {{NormKind::ada}, [](S s, V k, V v) { s.ada.factor = number(k, v); }}},
      {"k", {{NormKind::ada}, [](S s, V k, V v) { s.ada.slope = number(k, v); }}},
      {"detached", {{NormKind::ada}, [](S s, V k, V v) { s.ada.detach_factor = flag(k, v); }}},
      {"p", {{NormKind::rms}, [](S s, V k, V v) { s.share = number(k, v); }}},
      {"steps", {{NormKind::batch}, [](S s, V k, V v) { s.steps = count(k, v); }}},
      {"momentum", {{NormKind::batch}, [](S s, V k, V v) { s.momentum = number(k, v); }}},
      {"groups", {{NormKind::group}, [](S s, V k, V v) { s.groups = count(k, v); }}},
      {"radius", {{NormKind::divisive}, [](S s, V k, V v) { s.radius = count(k, v); }}},
  };
  return all;
}

bool belongs(const Option& option, NormKind kind) {
  if (option.kinds.empty()) return kind != NormKind::none;
  return std::find(option.kinds.begin(), option.kinds.end(), kind) != option.kinds.end();
}

void set_option(NormSpec& spec, std::string_view name, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string_view key = assignment.substr(0, equals);
  expect<ArgumentError>(!assignment.empty(),
                        "norm: {}: an option is empty; leave out the colon or comma before it",
                        name);
  const auto found = options().find(key);
  std::string known;
  for (const auto& [each, option] : options())
    if (belongs(option, spec.kind)) known += (known.empty() ? "" : ", ") + each;
  expect<ArgumentError>(found != options().end() && equals != std::string_view::npos &&
                            belongs(found->second, spec.kind),
                        "norm: {} has no option {}; available: {}", name, beginning(assignment),
                        known);
  found->second.set(spec, key, assignment.substr(equals + 1));
}

// Refuses impossible specs, whether given as text or field by field.
void expect_possible(const NormSpec& spec) {
  expect_not_negative("norm", "epsilon", spec.statistics.epsilon);
  expect<ArgumentError>(spec.momentum >= 0 && spec.momentum <= 1,
                        "norm: momentum must lie in [0, 1]: {}", spec.momentum);
  expect<ArgumentError>(std::isfinite(spec.gain), "norm: gain must be finite: {}", spec.gain);
  expect<ArgumentError>(std::isfinite(spec.ada.factor), "norm: ada.factor must be finite: {}",
                        spec.ada.factor);
  expect<ArgumentError>(std::isfinite(spec.ada.slope), "norm: ada.slope must be finite: {}",
                        spec.ada.slope);
  expect<ArgumentError>(spec.share > 0 && spec.share <= 1, "norm: share must lie in (0, 1]: {}",
                        spec.share);
  expect_positive("norm", "steps", spec.steps);
  expect_positive("norm", "groups", spec.groups);
  expect_not_negative("norm", "radius", spec.radius);
  expect<ArgumentError>(!spec.learned_smoothing || spec.statistics.place == Epsilon::inside_root,
                        "norm: a learned smoothing term must be inside the root: place is out");
  expect<ArgumentError>(
      spec.statistics.variance == Variance::biased || spec.kind != NormKind::divisive,
      "norm: the variance over a window must be biased: unbiased is 1");
}

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

NormSpec::NormSpec(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  bool found = false;
  for (const auto& [known, preset] : presets()) {
    if (known != name) continue;
    *this = preset;
    found = true;
  }
  if (!found) {
    std::string all;
    for (const std::string& known : norm_names()) all += (all.empty() ? "" : ", ") + known;
    fail<ArgumentError>("norm: unknown normalization {}; available: {}", beginning(name), all);
  }
  if (colon == std::string_view::npos) return;
  std::set<std::string_view> given;
  for (std::string_view rest = text.substr(colon + 1);;) {
    const std::size_t comma = rest.find(',');
    const std::string_view assignment = rest.substr(0, comma);
    set_option(*this, name, assignment);
    const std::string_view key = assignment.substr(0, assignment.find('='));
    expect<ArgumentError>(given.insert(key).second, "norm: {}: {} is given twice", name, key);
    if (comma == std::string_view::npos) break;
    rest = rest.substr(comma + 1);
  }
  expect_possible(*this);
}

std::vector<std::string> norm_names() {
  std::vector<std::string> names;
  for (const auto& [name, preset] : presets()) names.push_back(name);
  return names;
}

Norm::Norm(const NormSpec& s, Index channels, Channels where) : spec(s), where_(where) {
  expect<ArgumentError>(
      spec.kind != NormKind::instance || where == Channels::second,
      "norm: instance normalization needs the positions of images: features have none");
  expect_positive("norm", "channels", channels);
  expect_possible(spec);
  expect<ArgumentError>(spec.kind != NormKind::group || channels % spec.groups == 0,
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
}

NormFields Norm::fields_of(const Shape& shape) const {
  const int rank = shape.rank();
  const bool images = where_ == Channels::second;
  const std::vector<int> all = images ? from(1, rank) : std::vector<int>{-1};
  switch (spec.kind) {
    case NormKind::rms:
      return {.center = {}, .scale = {.axes = all, .share = spec.share}};
    case NormKind::batch:
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

// Uses the batch's statistics in training, otherwise the running ones.
Tensor Norm::batch(const Tensor& x, Index step, Mode mode) const {
  const bool by_step = where_ != Channels::second && running_mean.value().rank() == 2;
  const auto now = [&](const Tensor& averages) {
    return by_step ? select(averages, std::min(step, averages.shape()[0] - 1)) : averages;
  };
  if (!mode.is_training()) {
    const Tensor variance = now(running_variance);
    const Tensor epsilon =
        smoothing.defined() ? square(smoothing) : Tensor(spec.statistics.epsilon);
    const bool inside = spec.statistics.place == Epsilon::inside_root;
    return (x - now(running_mean)) / (inside ? sqrt(variance + epsilon) : sqrt(variance) + epsilon);
  }
  if (!recomputing()) {
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
}

void Norm::pytorch(PyTorchState& state) const {
  if (smoothing.defined()) state.no_counterpart("a norm with a learned smoothing term");
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
