#pragma once

#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// How far two tensors are apart. A distance in ULPs is taken at the worst element, in units of the
/// last place of the largest finite element of both: a sum is rounded as coarsely as its largest
/// addend. What a mask has put beside much smaller elements, alike in both tensors, does
/// not count for the largest.
struct TraceDistance {
  double ulps = 0;      ///< infinite for other shapes, and where one alone is finite
  double relative = 0;  ///< the difference of the worst, divided by the larger of both
  Index worst = 0, different = 0;
};

/// The largest finite element, in absolute value.
double largest(const Tensor& x);

/// So many times as large as the elements that it leaves visible is what a mask puts beside them.
constexpr double mask_factor = 1000;
/// Whether a mask may have put x there: a large whole number, such as -1e4, -1e9 or the least of
/// floats, or an infinity.
bool is_mask_value(double x);

/// epsilon: of the precision that counts, such as 2^-23   least: the scale is at least this
TraceDistance trace_distance(const Tensor& a, const Tensor& b, double epsilon, double least = 0);

}  // namespace tapegrad::TAPEGRAD_SCALAR
