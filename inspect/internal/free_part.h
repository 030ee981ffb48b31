#pragma once

#include <vector>

#include "tapegrad/inspect/free_directions.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// What a direction does to the elements of a part that change together: what is added, or the
/// logarithm of a factor.
using Numbers = std::vector<double>;

double length(const Numbers& numbers);
/// The sum of the squares of all elements.
double squares(const Tensor& x);

/// The axes that are longer than 1.
std::vector<int> long_axes(const Shape& shape);
/// All of a parameter, with a number for each position of these axes.
FreePart part_of(const NamedParameter& slot, std::vector<int> axes);
bool same(const Parameter& a, const Parameter& b);
/// Whether every change of `inner` is one of `outer`.
bool covers(const FreePart& outer, const FreePart& inner);
/// Whether both change an element.
bool overlap(const FreePart& a, const FreePart& b);

/// The sums of x over the elements that change together, one for each number.
///   x: of the parameter's shape
Numbers sums(const FreePart& part, const Tensor& x);
/// The parameter's value after a change.
Tensor moved(FreeKind kind, const FreePart& part, const Tensor& value, const Numbers& numbers);

}  // namespace tapegrad::TAPEGRAD_SCALAR
