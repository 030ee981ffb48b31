#include "tapegrad/nn/layers/norm.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "tapegrad/core/beginning.h"
#include "tapegrad/core/error.h"
#include "tapegrad/nn/options.h"

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

NormSpec whiten_spec() {
  NormSpec spec = of_kind(NormKind::whiten, true);
  spec.groups = 1;
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
      {"whiten", whiten_spec()},
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

// The kinds that `normalize` computes without anything around it.
const std::vector<NormKind>& with_forms() {
  static const std::vector<NormKind> kinds{NormKind::layer, NormKind::rms, NormKind::instance,
                                           NormKind::group, NormKind::divisive};
  return kinds;
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
      {"forward",
       {with_forms(),
        [](S s, V k, V v) {
          expect<ArgumentError>(v == "normalized" || v == "identity",
                                "norm: {}={}: must be normalized or identity", k, beginning(v));
          s.statistics.identity_forward = v == "identity";
        }}},
      {"factor",
       {with_forms(),
        [](S s, V k, V v) {
          expect<ArgumentError>(v == "1/s" || v == "1", "norm: {}={}: must be 1/s or 1", k,
                                beginning(v));
          s.statistics.unit_factor = v == "1";
        }}},
      {"c", {{NormKind::ada}, [](S s, V k, V v) { s.ada.factor = number(k, v); }}},
      {"k", {{NormKind::ada}, [](S s, V k, V v) { s.ada.slope = number(k, v); }}},
      {"detached", {{NormKind::ada}, [](S s, V k, V v) { s.ada.detach_factor = flag(k, v); }}},
      {"p", {{NormKind::rms}, [](S s, V k, V v) { s.share = number(k, v); }}},
      {"steps", {{NormKind::batch}, [](S s, V k, V v) { s.steps = count(k, v); }}},
      {"momentum",
       {{NormKind::batch, NormKind::whiten}, [](S s, V k, V v) { s.momentum = number(k, v); }}},
      {"groups",
       {{NormKind::group, NormKind::whiten}, [](S s, V k, V v) { s.groups = count(k, v); }}},
      {"iterations", {{NormKind::whiten}, [](S s, V k, V v) { s.iterations = count(k, v); }}},
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
  expect_possible();
}

std::vector<std::string> norm_names() {
  std::vector<std::string> names;
  for (const auto& [name, preset] : presets()) names.push_back(name);
  return names;
}

void NormSpec::expect_possible() const {
  expect_not_negative("norm", "epsilon", statistics.epsilon);
  expect<ArgumentError>(momentum >= 0 && momentum <= 1, "norm: momentum must lie in [0, 1]: {}",
                        momentum);
  expect<ArgumentError>(std::isfinite(gain), "norm: gain must be finite: {}", gain);
  expect<ArgumentError>(std::isfinite(ada.factor), "norm: ada.factor must be finite: {}",
                        ada.factor);
  expect<ArgumentError>(std::isfinite(ada.slope), "norm: ada.slope must be finite: {}", ada.slope);
  expect<ArgumentError>(share > 0 && share <= 1, "norm: share must lie in (0, 1]: {}", share);
  expect_positive("norm", "steps", steps);
  expect_positive("norm", "groups", groups);
  expect_not_negative("norm", "radius", radius);
  expect<ArgumentError>(iterations >= 1 && iterations <= 100,
                        "norm: iterations must lie in [1, 100]: {}", iterations);
  expect<ArgumentError>(
      statistics.place == Epsilon::inside_root || kind != NormKind::whiten,
      "norm: the smoothing term of whiten is added to the covariance: place is out");
  expect<ArgumentError>(!learned_smoothing || statistics.place == Epsilon::inside_root,
                        "norm: a learned smoothing term must be inside the root: place is out");
  expect<ArgumentError>(statistics.variance == Variance::biased || kind != NormKind::divisive,
                        "norm: the variance over a window must be biased: unbiased is 1");
  expect<ArgumentError>(
      statistics.is_of_paper() || std::count(with_forms().begin(), with_forms().end(), kind) > 0,
      "norm: only layer, rms, instance, group and divisive take forward=identity and factor=1");
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
