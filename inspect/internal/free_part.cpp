#include "tapegrad/inspect/internal/free_part.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

bool includes(const std::vector<int>& outer, const std::vector<int>& inner) {
  return std::includes(outer.begin(), outer.end(), inner.begin(), inner.end());
}

// The parameter's shape, with the extent 1 where the numbers are equal.
Shape shape_of_numbers(const FreePart& part) {
  Shape shape = part.parameter.shape();
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (!includes(part.axes, {axis})) shape = shape.with(axis, 1);
  return shape;
}

// Which of them are the part's.
std::pair<Index, Index> range_of_numbers(const FreePart& part) {
  if (part.axes.size() == 1) return {part.begin, part.end};
  return {0, shape_of_numbers(part).size()};
}

}  // namespace

double length(const Numbers& numbers) {
  return std::sqrt(std::inner_product(numbers.begin(), numbers.end(), numbers.begin(), 0.0));
}

double squares(const Tensor& x) {
  double sum = 0;
  for (const double value : x.values()) sum += value * value;
  return sum;
}

std::vector<int> long_axes(const Shape& shape) {
  std::vector<int> axes;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] > 1) axes.push_back(axis);
  return axes;
}

FreePart part_of(const NamedParameter& slot, std::vector<int> axes) {
  const Index end = axes.size() == 1 ? slot.parameter.shape()[axes[0]] : 0;
  return {slot.name, slot.parameter, std::move(axes), 0, end};
}

bool same(const Parameter& a, const Parameter& b) { return a.identity() == b.identity(); }

bool covers(const FreePart& outer, const FreePart& inner) {
  if (!same(outer.parameter, inner.parameter) || !includes(outer.axes, inner.axes)) return false;
  if (outer.axes.size() != 1) return true;
  const Index begin = inner.axes.empty() ? 0 : inner.begin;
  const Index end = inner.axes.empty() ? outer.parameter.shape()[outer.axes[0]] : inner.end;
  return outer.begin <= begin && end <= outer.end;
}

bool overlap(const FreePart& a, const FreePart& b) {
  if (!same(a.parameter, b.parameter)) return false;
  return a.axes != b.axes || a.axes.size() != 1 || (a.begin < b.end && b.begin < a.end);
}

Numbers sums(const FreePart& part, const Tensor& x) {
  const Tensor all = sum_to(x, shape_of_numbers(part));
  const auto [begin, end] = range_of_numbers(part);
  return {all.data() + begin, all.data() + end};
}

Tensor moved(FreeKind kind, const FreePart& part, const Tensor& value, const Numbers& numbers) {
  Tensor change = zeros(shape_of_numbers(part));
  std::copy(numbers.begin(), numbers.end(), change.mutable_data() + range_of_numbers(part).first);
  if (kind == FreeKind::shift) return value + change;
  return value * exp(part.inverse ? -change : change);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
