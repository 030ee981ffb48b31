// The predictions of lab/docs/signal.md.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <optional>

#include "experiments/condition_tasks.h"
#include "experiments/signal.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

// A prediction for one task: nothing where it does not apply.
using TaskJudge = std::function<std::optional<Judgement>(const MatrixColumn&)>;

// The chance of a normal variable with this mean and deviation to lie between two numbers.
double chance(double mean, double deviation, double low, double high) {
  if (low >= high) return 0;
  const auto below = [&](double x) {
    if (deviation == 0) return x > mean ? 1.0 : 0.0;
    return std::erfc((mean - x) / deviation / std::numbers::sqrt2) / 2;
  };
  return below(high) - below(low);
}

// Between which bounds a ratio must lie, and between which its interval; and what is predicted.
struct Bounds {
  double low, high, interval_low, interval_high, predicted;
};
constexpr Bounds cost_removed{0.8, INFINITY, 0.5, INFINITY, 1},
    cost_kept{-INFINITY, 0.3, -INFINITY, 0.5, 0}, costs_alike{0.5, 2, 0.5, 2, 1};

Judgement within(const Bounds& range, const Ratio& found) {
  const bool supported = found.value > range.low && found.value < range.high &&
                         found.low > range.interval_low && found.high < range.interval_high;
  const bool contradicted = found.high < range.low || found.low > range.high;
  const double half = (found.high - found.low) / 2;
  const double power =
      std::isinf(found.low) || std::isinf(found.high)
          ? 0
          : chance(range.predicted, half / 1.96, std::max(range.low, range.interval_low + half),
                   std::min(range.high, range.interval_high - half));
  return {supported      ? Verdict::supported
          : contradicted ? Verdict::contradicted
                         : Verdict::inconclusive,
          fmt::format("{}, power {:.2f}", found.to_string(), power)};
}

// Judges the lead of `a` over `b`, divided by the cost: the lead of layer normalization over a
// detached system. Returns nothing where no cost is seen, or runs are missing.
std::optional<Judgement> lead_beside_cost(const MatrixColumn& column, const Bounds& range,
                                          const std::string& a, const std::string& b,
                                          const std::string& detached) {
  const Metric& metric = column.task.metric;
  const Results *one = column.of(a), *other = column.of(b), *whole = column.of("layer_simple"),
                *part = column.of(detached);
  if (!one || !other || !whole || !part) return {};
  if (better(metric, *whole, *part).verdict != Verdict::supported) return {};
  if (const auto none = not_judged(metric, *one, *other)) return none;
  return within(range, ratio_of_leads(metric, *one, *other, *whole, *part));
}

std::optional<Judgement> level(const MatrixColumn& column, const std::string& a,
                               const std::string& b) {
  const Metric& metric = column.task.metric;
  const Results *one = column.of(a), *other = column.of(b);
  if (!one || !other) return {};
  Judgement found = equal(metric, *one, *other, margin_of(column.task));
  if (!is_judged(found.verdict)) return found;
  const Advantage lead = advantage(metric, *one, *other);
  const double room = margin_of(column.task) - lead.half_width;
  found.reason += fmt::format(", power {:.2f}", chance(0, lead.error, -room, room));
  return found;
}

// Whether the finding of `judge` for a constraint is true of all three.
std::optional<Judgement> of_all_constraints(
    const std::function<std::optional<Judgement>(const std::string& constraint)>& judge) {
  std::vector<std::pair<std::string, Judgement>> parts;
  for (const std::string& constraint : signal_constraints)
    if (const std::optional<Judgement> found = judge(constraint))
      parts.emplace_back(constraint, *found);
  if (parts.size() < signal_constraints.size()) return {};
  return all_of(parts);
}

// Supported if four in five parts are, contradicted if so many are that four in five cannot be.
JudgedClaim four_in_five(const std::string& statement, const Matrix& matrix,
                         const TaskJudge& judge) {
  std::vector<std::pair<std::string, Judgement>> parts;
  for (const MatrixColumn& column : matrix)
    if (const std::optional<Judgement> found = judge(column))
      parts.emplace_back(column.task.name, *found);
  const auto count = [&](Verdict verdict) -> std::size_t {
    return std::ranges::count_if(parts,
                                 [&](const auto& part) { return part.second.verdict == verdict; });
  };
  const std::size_t needed = (4 * parts.size() + 4) / 5;
  Judgement judgement = all_of(parts);
  judgement.verdict = parts.size() < 3                      ? Verdict::inconclusive
                      : count(Verdict::supported) >= needed ? Verdict::supported
                      : count(Verdict::contradicted) > parts.size() - needed
                          ? Verdict::contradicted
                          : Verdict::inconclusive;
  return {
      "", statement,
      fmt::format("of {} tasks it speaks of {}: supported in {}, contradicted in {}", matrix.size(),
                  parts.size(), count(Verdict::supported), count(Verdict::contradicted)),
      judgement};
}

}  // namespace

std::vector<JudgedClaim> signal_predictions(const Matrix& matrix, const std::string& optimizer) {
  std::vector<JudgedClaim> claims;
  const auto predict = [&](const std::string& statement, const TaskJudge& judge) {
    claims.push_back(four_in_five(fmt::format("With {}, {}", optimizer, statement), matrix, judge));
  };
  predict(
      "centered weights remove the cost of a detached mean, where there is one: R above 0.8, its "
      "interval above 0.5",
      [](const MatrixColumn& c) {
        return lead_beside_cost(c, cost_removed, "detach_mean+center", "detach_mean",
                                "detach_mean");
      });
  predict(
      "no constraint removes that of a detached deviation: each R below 0.3, its interval below "
      "0.5",
      [](const MatrixColumn& c) {
        return of_all_constraints([&](const std::string& constraint) {
          return lead_beside_cost(c, cost_kept, "detach_variance" + constraint, "detach_variance",
                                  "detach_variance");
        });
      });
  predict(
      "with both detached, centered weights give what a detached deviation gives, within the "
      "margin",
      [](const MatrixColumn& c) { return level(c, "detach+center", "detach_variance"); });
  predict("constraints change layer normalization by less than the margin",
          [](const MatrixColumn& c) {
            return of_all_constraints([&](const std::string& constraint) {
              return level(c, "layer_simple" + constraint, "layer_simple");
            });
          });
  predict(
      "a root mean square norm with a detached divisor loses half to twice what layer "
      "normalization loses with a detached deviation",
      [](const MatrixColumn& c) {
        return lead_beside_cost(c, costs_alike, "rms_simple", "rms_detached", "detach_variance");
      });
  return claims;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
