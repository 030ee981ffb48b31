#pragma once

#include <string>
#include <vector>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::detail {

/// An axis between two of its ticks.
struct Axis {
  struct Tick {
    double value;
    std::string label;
  };
  std::vector<Tick> ticks;
  bool logarithmic = false;

  /// The position along the axis, from 0 to 1.
  double at(double value) const;
  bool reaches_zero() const { return ticks.front().value <= 0 && ticks.back().value >= 0; }
};

/// Ticks at intervals of 1, 2 or 5 times a power of ten. They differ, however close the ends are.
Axis linear_axis(double least, double greatest);

/// Ticks at powers of two (doublings), or at 1, 2 and 5 times powers of ten; over many decades only
/// at powers of ten.
Axis logarithmic_axis(double least, double greatest, bool doublings);

/// The smallest n for which labels at every n-th tick do not touch.
///   sizes: of the labels along the axis   length: of the axis, in the same unit
std::size_t label_stride(const Axis& axis, const std::vector<double>& sizes, double length);

}  // namespace tapegrad::TAPEGRAD_SCALAR::detail
