#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tapegrad/core/options.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/nn/layers/norms/internal/norms.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// All that a text can set. They refer to both arguments.
OptionSetters setters_of(NormSettings& settings, NormMethod& method) {
  if (!method.normalizes) return {};
  NormOptions& statistics = settings.statistics;
  OptionSetters all = method.setters();
  all["eps"] = not_negative_option(statistics.epsilon);
  all["s"] = [&statistics](std::string_view value) {
    double s = 0;
    const std::string must_be = not_negative_option(s)(value);
    if (must_be.empty()) statistics.epsilon = s * s;
    return must_be;
  };
  all["learn_s"] = flag_option(settings.learned_smoothing);
  all["place"] = choice_option(statistics.place,
                               {{"in", Epsilon::inside_root}, {"out", Epsilon::outside_root}});
  all["unbiased"] =
      choice_option(statistics.variance, {{"0", Variance::biased}, {"1", Variance::unbiased}});
  all["affine"] = flag_option(settings.affine);
  all["gain"] = number_option(settings.gain);
  all["weight"] = flag_option(settings.normalized_weights);
  if (!method.takes_forms) return all;
  all["forward"] =
      choice_option(statistics.identity_forward, {{"normalized", false}, {"identity", true}});
  all["factor"] = choice_option(statistics.unit_factor, {{"1/s", false}, {"1", true}});
  return all;
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
  const std::string_view name = text.substr(0, text.find(':'));
  for (norms::Make* make : norms::makers) {
    const std::shared_ptr<NormMethod> made = make();
    const auto preset = std::find_if(made->presets.begin(), made->presets.end(),
                                     [&](const auto& each) { return each.first == name; });
    if (preset == made->presets.end()) continue;
    NormSettings settings = preset->second;
    set_options("norm", text, setters_of(settings, *made));
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

}  // namespace tapegrad::TAPEGRAD_SCALAR
