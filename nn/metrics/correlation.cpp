#include "tapegrad/nn/metrics/correlation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "tapegrad/core/error.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

using Values = std::vector<double>;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Values values(const Tensor& x) { return {x.data(), x.data() + x.size()}; }

void expect_lists(const char* operation, const Tensor& guesses, const Tensor& right) {
  expect_defined(operation, guesses, right);
  expect(guesses.rank() == 1 && guesses.shape() == right.shape() && guesses.size() > 0,
         "{}: needs two lists of one length: {} and {}", operation, guesses.shape(), right.shape());
}

// The differences from their mean: exact zeros where all values are one.
Values centered(Values x) {
  const auto [least, greatest] = std::ranges::minmax(x);
  if (least == greatest) return Values(x.size(), 0);
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
  for (double& each : x) each -= mean;
  return x;
}

double dot(const Values& a, const Values& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

double correlation(const Values& x, const Values& y) {
  const Values a = centered(x), b = centered(y);
  return dot(a, b) / std::sqrt(dot(a, a)) / std::sqrt(dot(b, b));  // 0 / 0 is NaN
}

// From 1 on; equal values share the mean of their ranks.
Values ranked(const Values& x) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return x[i]; });
  Values ranks(x.size());
  for (std::size_t begin = 0, end = 0; begin < x.size(); begin = end) {
    while (end < x.size() && x[order[end]] == x[order[begin]]) ++end;
    const double mean = static_cast<double>(begin + 1 + end) / 2;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = mean;
  }
  return ranks;
}

}  // namespace

double pearson(const Tensor& guesses, const Tensor& right) {
  expect_lists("pearson", guesses, right);
  return correlation(values(guesses), values(right));
}

double spearman(const Tensor& guesses, const Tensor& right) {
  expect_lists("spearman", guesses, right);
  const Values x = values(guesses), y = values(right);
  const auto is_nan = [](double each) { return std::isnan(each); };
  if (std::ranges::any_of(x, is_nan) || std::ranges::any_of(y, is_nan)) return nan;
  return correlation(ranked(x), ranked(y));
}

double mean_squared_error(const Tensor& guesses, const Tensor& right) {
  expect_lists("mean_squared_error", guesses, right);
  const Values x = values(guesses), y = values(right);
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return sum / static_cast<double>(x.size());
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
