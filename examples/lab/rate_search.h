#pragma once

#include <functional>
#include <map>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// The validation errors of learning rates that were tried, a factor 3 apart.
struct RateSearch {
  std::map<double, double> errors;

  /// The rate of the least error, the smallest one where several are equal.
  double best() const;
  /// Whether a smaller and a greater rate are both worse. If not, the best may lie further out.
  bool is_interior() const;
};

/// Tries a third of the rate `first`, itself and its triple, then further ones at the side where
/// the best stands, until it is interior or `most` have been tried. A NaN counts as infinity.
///   error: the validation error of a run with a rate
RateSearch search_rates(double first, std::size_t most,
                        const std::function<double(double rate)>& error);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
