#include "experiments/detaching.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <tuple>

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

using Parts = std::vector<std::pair<std::string, Judgement>>;

// What the norms lose against layer_simple, seed by seed.
const Metric lost{.value = "lost", .higher_is_better = true};

Results losses_of(const Column& column, const std::string& norm) {
  const Metric metric = validation_after(column.steps);
  const std::vector<double> with = column.of(norm).values(metric),
                            without = column.of("layer_simple").values(metric);
  Results results{norm};
  for (std::size_t i = 0; i < with.size(); ++i)
    results.runs.push_back(
        {.curve = {{1, 0}}, .values = {{lost.value, metric.advantage(without[i], with[i])}}});
  return results;
}

// Everything about a setting but its depth.
auto apart_from_depth(const Column& c) {
  return std::tie(c.init, c.placement, c.channels, c.rate, c.steps);
}

// For each setting with several depths: whether the deepest network loses more than the shallowest.
Parts growth(const std::vector<Column>& columns, const std::string& norm) {
  Parts parts;
  for (const Column& shallow : columns) {
    const Column* deepest = &shallow;
    bool shallowest = true;
    for (const Column& other : columns) {
      if (apart_from_depth(other) != apart_from_depth(shallow)) continue;
      shallowest = shallowest && other.layers >= shallow.layers;
      if (other.layers > deepest->layers) deepest = &other;
    }
    if (shallowest && deepest != &shallow)
      parts.emplace_back(deepest->name(columns),
                         lab::better(lost, losses_of(*deepest, norm), losses_of(shallow, norm)));
  }
  return parts;
}

JudgedClaim judged(const std::string& source, const std::string& statement, const Parts& parts) {
  const auto count = [&](Verdict verdict) {
    return std::count_if(parts.begin(), parts.end(),
                         [&](const auto& part) { return part.second.verdict == verdict; });
  };
  return {source, statement,
          fmt::format("of {} settings it is supported in {} and contradicted in {}", parts.size(),
                      count(Verdict::supported), count(Verdict::contradicted)),
          all_of(parts)};
}

// Whether for some seed a point of the training curve differs.
bool differ(const Results& a, const Results& b, const CurvePoint& (*point)(const Outcome&)) {
  return !std::equal(a.runs.begin(), a.runs.end(), b.runs.begin(), b.runs.end(),
                     [&](const Outcome& one, const Outcome& other) {
                       return point(one).training == point(other).training;
                     });
}

}  // namespace

const std::vector<std::string> paper_norms{
    "none", "layer", "layer_simple", "detach", "detach_mean", "detach_variance", "ada"};

Metric validation_after(Index step) { return {.value = fmt::format("validation_{}", step)}; }

Judgement Column::better(const std::string& a, const std::string& b) const {
  return lab::better(validation_after(steps), of(a), of(b));
}

Judgement Column::equal(const std::string& a, const std::string& b) const {
  return lab::equal(validation_after(steps), of(a), of(b), equality_margin);
}

std::string Column::name(const std::vector<Column>& among) const {
  std::string name = fmt::format("{}, {} layers", placement, layers);
  const auto add = [&](const auto& member, const char* form) {
    if (std::any_of(among.begin(), among.end(),
                    [&](const Column& other) { return other.*member != this->*member; }))
      name += fmt::format(fmt::runtime(form), this->*member);
  };
  add(&Column::channels, ", {} channels");
  add(&Column::rate, ", rate {}");
  add(&Column::steps, ", {} steps");
  add(&Column::init, ", {} init");
  return name;
}

std::vector<Claim> detaching_claims(const std::vector<ByNorm>& settings) {
  Index equal = 0, apart = 0, all = 0;
  for (const ByNorm& results : settings)
    for (const std::string norm : {"detach", "detach_mean", "detach_variance"}) {
      const Results &whole = results.at("layer_simple"), &detached = results.at(norm);
      ++all;
      equal += differ(detached, whole, first_point) ? 0 : 1;
      apart += differ(detached, whole, last_point) ? 1 : 0;
    }
  return {{"Detached systems compute the values of layer_simple: with every seed their first batch "
           "has the same loss, bit for bit.",
           fmt::format("in {} of {} comparisons", equal, all), equal == all, "none: the same bits"},
          {"Their gradients differ, so that their last batches have other losses.",
           fmt::format("in {} of {} comparisons", apart, all), apart == all, "none: other bits"}};
}

std::vector<JudgedClaim> published_claims(const std::vector<Column>& columns) {
  const auto everywhere = [&](const std::string& source, const std::string& statement,
                              const std::function<Judgement(const Column&)>& judge) {
    Parts parts;
    for (const Column& column : columns) parts.emplace_back(column.name(columns), judge(column));
    return judged(source, statement, parts);
  };
  const auto better = [&](const char* source, const std::string& statement, const char* a,
                          const char* b) {
    return everywhere(source, statement, [=](const Column& c) { return c.better(a, b); });
  };
  const auto equal = [&](const char* source, const std::string& statement, const char* a,
                         const char* b) {
    return everywhere(source, fmt::format("{}: within {} bits.", statement, equality_margin),
                      [=](const Column& c) { return c.equal(a, b); });
  };
  std::vector<JudgedClaim> claims{
      better("Xu et al. 2019, table 2",
             "Detaching mean and scale costs: detach loses against layer_simple.", "layer_simple",
             "detach"),
      better("Xu et al. 2019, table 3",
             "Detaching the scale costs: detach_variance loses against layer_simple.",
             "layer_simple", "detach_variance"),
      better("Xu et al. 2019, table 3",
             "Of the two, the scale costs more: detach_variance loses against detach_mean.",
             "detach_mean", "detach_variance"),
      equal("Xu et al. 2019, table 3",
            "Detaching the mean is free: detach_mean equals layer_simple", "detach_mean",
            "layer_simple"),
      equal("Xu et al. 2019, table 1", "Gain and bias are not needed: layer_simple equals layer",
            "layer_simple", "layer"),
      equal("Xu et al. 2019, table 4",
            "AdaNorm is level with layer normalization here: ada equals layer", "ada", "layer"),
      better("Xu et al. 2019, table 1",
             "A character model is best without normalization: none is ahead of layer.", "none",
             "layer"),
  };
  if (const Parts parts = growth(columns, "detach"); !parts.empty())
    claims.push_back(judged("Xu et al. 2019, table 2",
                            "Deep networks lose more: detach costs the deepest more than "
                            "the shallowest.",
                            parts));
  return claims;
}

std::string best_norm(const Column& column) {
  return std::min_element(column.results.begin(), column.results.end(),
                          [&](const auto& a, const auto& b) {
                            return column.spread(a.first).mean < column.spread(b.first).mean;
                          })
      ->first;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
