#include "lab/rate_search.h"

#include <cmath>

namespace tapegrad::TAPEGRAD_SCALAR::lab {

double RateSearch::best() const {
  auto best = errors.begin();
  for (auto each = errors.begin(); each != errors.end(); ++each)
    if (each->second < best->second) best = each;
  return best->first;
}

bool RateSearch::is_interior() const {
  return best() != errors.begin()->first && best() != errors.rbegin()->first;
}

RateSearch search_rates(double first, std::size_t most,
                        const std::function<double(double rate)>& error) {
  RateSearch search;
  const auto attempt = [&](double rate) {
    const double found = error(rate);
    search.errors[rate] = std::isnan(found) ? INFINITY : found;
  };
  for (const double rate : {first / 3, first, 3 * first}) attempt(rate);
  while (!search.is_interior() && search.errors.size() < most) {
    const double least = search.errors.begin()->first, greatest = search.errors.rbegin()->first;
    attempt(search.best() == least ? least / 3 : 3 * greatest);
  }
  return search;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
