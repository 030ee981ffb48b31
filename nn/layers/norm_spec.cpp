#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "tapegrad/core/options.h"
#include "tapegrad/nn/layers/norms/internal/norms.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// All that a text can set. They refer to both arguments.
NormMethod::Setters setters_of(NormSettings& settings, NormMethod& method) {
  using namespace norms;
  if (!method.normalizes) return {};
  NormOptions& statistics = settings.statistics;
  NormMethod::Setters all = method.setters();
  all["eps"] = set(statistics.epsilon, number);
  all["s"] = set(statistics.epsilon, [](auto key, auto value) {
    return std::pow(expect_not_negative("norm", "s", number(key, value)), 2);
  });
  all["learn_s"] = flag(settings.learned_smoothing);
  all["place"] =
      choice(statistics.place, {{"in", Epsilon::inside_root}, {"out", Epsilon::outside_root}});
  all["unbiased"] =
      choice(statistics.variance, {{"0", Variance::biased}, {"1", Variance::unbiased}});
  all["affine"] = flag(settings.affine);
  all["gain"] = set(settings.gain, number);
  all["weight"] = flag(settings.normalized_weights);
  if (!method.takes_forms) return all;
  all["forward"] = choice(statistics.identity_forward, {{"normalized", false}, {"identity", true}});
  all["factor"] = choice(statistics.unit_factor, {{"1/s", false}, {"1", true}});
  return all;
}

void set_options(const NormMethod::Setters& setters, std::string_view name, std::string_view rest) {
  std::set<std::string_view> given;
  for (std::size_t comma = 0; comma != std::string_view::npos; rest = rest.substr(comma + 1)) {
    comma = rest.find(',');
    const std::string_view assignment = rest.substr(0, comma);
    const std::size_t equals = assignment.find('=');
    const std::string_view key = assignment.substr(0, equals);
    expect<ArgumentError>(!assignment.empty(),
                          "norm: {}: an option is empty; leave out the colon or comma before it",
                          name);
    const auto found = setters.find(key);
    std::string known;
    for (const auto& [option, setter] : setters) known += (known.empty() ? "" : ", ") + option;
    expect<ArgumentError>(found != setters.end() && equals != std::string_view::npos,
                          "norm: {} has no option {}; available: {}", name, beginning(assignment),
                          known);
    found->second(key, assignment.substr(equals + 1));
    expect<ArgumentError>(given.insert(key).second, "norm: {}: {} is given twice", name, key);
  }
}

// "layer, rms and group"
std::string names_with_forms() {
  std::string names;
  for (norms::Make* make : norms::makers)
    if (const auto method = make(); method->takes_forms)
      names += (names.empty() ? "" : ", ") + method->name;
  return names.replace(names.rfind(", "), 2, " and ");
}

}  // namespace

NormSpec NormSpec::parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  for (norms::Make* make : norms::makers) {
    const std::shared_ptr<NormMethod> made = make();
    const auto preset = std::find_if(made->presets.begin(), made->presets.end(),
                                     [&](const auto& each) { return each.first == name; });
    if (preset == made->presets.end()) continue;
    NormSettings settings = preset->second;
    if (colon != std::string_view::npos)
      set_options(setters_of(settings, *made), name, text.substr(colon + 1));
    const NormSpec spec(settings, made);
    spec.expect_possible();
    return spec;
  }
  fail<ArgumentError>("norm: unknown normalization {}; available: {}", beginning(name),
                      fmt::format("{}", fmt::join(norm_names(), ", ")));
}

std::vector<std::string> norm_names() {
  std::vector<std::string> names;
  for (norms::Make* make : norms::makers) {
    const auto method = make();
    for (const auto& [name, settings] : method->presets) names.push_back(name);
  }
  return names;
}

void NormSpec::expect_possible() const {
  expect_not_negative("norm", "epsilon", statistics.epsilon);
  expect<ArgumentError>(std::isfinite(gain), "norm: gain must be finite: {}", gain);
  method->expect_possible(statistics);
  expect<ArgumentError>(!learned_smoothing || statistics.place == Epsilon::inside_root,
                        "norm: a learned smoothing term must be inside the root: place is out");
  if (!statistics.is_of_paper() && !method->takes_forms)
    fail<ArgumentError>("norm: only {} take forward=identity and factor=1", names_with_forms());
}

double norms::number(std::string_view key, std::string_view value) {
  double result = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  expect<ArgumentError>(
      error == std::errc() && end == value.data() + value.size() && std::isfinite(result),
      "norm: {}={} is not a number", key, beginning(value));
  return result;
}

Index norms::count(std::string_view key, std::string_view value) {
  const double result = number(key, value);
  expect<ArgumentError>(result >= 1 && result <= 1e6 && result == std::floor(result),
                        "norm: {}={}: must be a whole number of at least 1", key, beginning(value));
  return static_cast<Index>(result);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
