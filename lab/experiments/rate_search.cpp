#include "experiments/rate_search.h"

#include <cmath>

namespace tapegrad::TAPEGRAD_SCALAR::lab {

double RateSearch::best() const {
  auto best = errors.begin();
  for (auto each = errors.begin(); each != errors.end(); ++each)
    if (each->second < best->second) best = each;
  return best->first;
}

bool RateSearch::is_interior() const {
  const auto& [least, error] = *errors.begin();
  return best() != least && best() != errors.rbegin()->first && !std::isinf(error);
}

void RateSearch::add(double rate, double error) {
  errors[rate] = std::isnan(error) ? INFINITY : error;
}

std::optional<double> RateSearch::next(const std::vector<double>& first, std::size_t most) const {
  for (const double rate : first)
    if (!errors.contains(rate)) return rate;
  if (is_interior() || errors.size() >= most) return {};
  const double least = errors.begin()->first, greatest = errors.rbegin()->first;
  const bool lower = best() == least || std::isinf(errors.begin()->second);
  return lower ? least / 3 : 3 * greatest;
}

RateSearch search_rates(double first, std::size_t most,
                        const std::function<double(double rate)>& error) {
  RateSearch search;
  while (const auto rate = search.next({first / 3, first, 3 * first}, most))
    search.add(*rate, error(*rate));
  return search;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
