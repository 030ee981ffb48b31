#include "tapegrad/nn/metrics/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "tapegrad/core/error.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// The rank of the cheapest of the right candidates in a row of costs.
Index rank(std::span<const real> costs, std::span<const Index> right) {
  const auto cost = [&](Index candidate) { return costs[static_cast<std::size_t>(candidate)]; };
  real best = std::numeric_limits<real>::quiet_NaN();
  for (const Index candidate : right) best = std::fmin(best, cost(candidate));
  Index result = 1;
  for (Index candidate = 0; candidate < static_cast<Index>(costs.size()); ++candidate)
    if (!(cost(candidate) > best) && std::ranges::find(right, candidate) == right.end()) ++result;
  return result;
}

void expect_some(const char* operation, const Indices& ranks) {
  expect(ranks.size() > 0, "{}: there are no ranks", operation);
}

void expect_costs(const char* operation, const Tensor& positives, const Tensor& negatives) {
  expect_defined(operation, positives, negatives);
  for (const Tensor* costs : {&positives, &negatives}) {
    expect(costs->rank() == 1 && costs->size() > 0, "{}: costs must be a list: {}", operation,
           costs->shape());
    expect<ArgumentError>(std::none_of(costs->data(), costs->data() + costs->size(),
                                       [](real cost) { return std::isnan(cost); }),
                          "{}: a cost is not a number", operation);
  }
}

// How many costs are at most `bound`.
Index below(double bound, const Tensor& costs) {
  return std::count_if(costs.data(), costs.data() + costs.size(),
                       [&](real cost) { return static_cast<double>(cost) <= bound; });
}

}  // namespace

Indices ranks(const Tensor& costs, const Indices& right) {
  expect_defined("ranks", costs, right);
  expect(costs.rank() == 2 && right.shape().rank() >= 1 && right.shape().rank() <= 2 &&
             right.shape()[0] == costs.shape()[0] && right.shape()[-1] > 0,
         "ranks: costs {} need one right candidate a row, or several: {}", costs.shape(),
         right.shape());
  const auto queries = costs.shape()[0], candidates = costs.shape()[1];
  expect_below("ranks", right, candidates);
  const Index of_each = right.shape().rank() == 2 ? right.shape()[1] : 1;
  Indices result = Indices::uninitialized({queries});
  for (Index query = 0; query < queries; ++query)
    result.mutable_data()[query] =
        rank({costs.data() + query * candidates, static_cast<std::size_t>(candidates)},
             {right.data() + query * of_each, static_cast<std::size_t>(of_each)});
  return result;
}

double recall_at(Index k, const Indices& ranks) {
  expect_some("recall_at", ranks);
  const auto found = std::ranges::count_if(ranks.values(), [&](Index rank) { return rank <= k; });
  return static_cast<double>(found) / static_cast<double>(ranks.size());
}

double median_rank(const Indices& ranks) {
  expect_some("median_rank", ranks);
  std::vector<Index> ordered(ranks.values().begin(), ranks.values().end());
  std::ranges::sort(ordered);
  const std::size_t middle = ordered.size() / 2;
  const Index below = ordered[ordered.size() % 2 == 0 ? middle - 1 : middle];
  return static_cast<double>(below + ordered[middle]) / 2;
}

double mean_rank(const Indices& ranks) {
  expect_some("mean_rank", ranks);
  const auto total = std::accumulate(ranks.values().begin(), ranks.values().end(), Index{0});
  return static_cast<double>(total) / static_cast<double>(ranks.size());
}

Threshold best_threshold(const Tensor& positives, const Tensor& negatives) {
  expect_costs("best_threshold", positives, negatives);
  std::vector<std::pair<real, int>> ordered;  // each cost, and what it adds below the bound
  for (const real cost : std::span(positives.data(), static_cast<std::size_t>(positives.size())))
    ordered.emplace_back(cost, 1);
  for (const real cost : std::span(negatives.data(), static_cast<std::size_t>(negatives.size())))
    ordered.emplace_back(cost, -1);
  std::ranges::sort(ordered);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Index right = negatives.size(), most = right;  // with a bound below all costs
  double bound = -infinity;
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    right += ordered[i].second;
    const bool is_last = i + 1 == ordered.size();
    if (right <= most || (!is_last && ordered[i + 1].first == ordered[i].first)) continue;
    most = right;
    bound = is_last ? infinity
                    : std::midpoint(static_cast<double>(ordered[i].first),
                                    static_cast<double>(ordered[i + 1].first));
  }
  return {bound, static_cast<double>(most) / static_cast<double>(ordered.size())};
}

double threshold_accuracy(double bound, const Tensor& positives, const Tensor& negatives) {
  expect_costs("threshold_accuracy", positives, negatives);
  const Index right = below(bound, positives) + negatives.size() - below(bound, negatives);
  return static_cast<double>(right) / static_cast<double>(positives.size() + negatives.size());
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
