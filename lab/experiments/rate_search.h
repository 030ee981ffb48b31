#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// The validation errors of learning rates that were tried, a factor 3 apart.
struct RateSearch {
  std::map<double, double> errors;

  /// The rate of the least error, the smallest one where several are equal.
  double best() const;
  /// Whether a smaller rate is worse and a greater one no better, and the smallest has not
  /// diverged, since below a rate that diverges there may be a better one. If not, the best may lie
  /// further out.
  bool is_interior() const;
  /// Enters the error of a rate; a NaN counts as infinity.
  void add(double rate, double error);
  /// The rate to try next: of `first` the first one that has not been tried, then one further out
  /// at the side where the best stands, or below the smallest one if that has diverged. None if it
  /// is interior or `most` have been tried.
  std::optional<double> next(const std::vector<double>& first, std::size_t most) const;
};

/// Tries a third of the rate `first`, itself and its triple, then further ones at the side where
/// the best stands, until it is interior or `most` have been tried.
///   error: the validation error of a run with a rate
RateSearch search_rates(double first, std::size_t most,
                        const std::function<double(double rate)>& error);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
