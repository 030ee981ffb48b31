#include "tapegrad/ops/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tapegrad/core/error.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/internal/fused.h"
#include "tapegrad/ops/internal/select.h"
#include "tapegrad/ops/kernels/order.h"
#include "tapegrad/ops/kernels/reduce.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

using ReduceKernel = void (*)(const kernels::AlongAxis& shape, const real* x, real* y);

// Calls body(first, last) for each group [first, last) of neighbouring axes, from the last to the
// first.
template <class Body>
void for_groups(const std::array<bool, Shape::max_rank>& reduced, int rank, const Body& body) {
  for (int last = rank; last > 0; --last) {
    if (!reduced[last - 1]) continue;
    int first = last - 1;
    while (first > 0 && reduced[first - 1]) --first;
    body(first, last);
    last = first;
  }
}

Shape with_ones(Shape shape, int first, int last) {
  for (int axis = first; axis < last; ++axis) shape = shape.with(axis, 1);
  return shape;
}

// Reduces each group with one call of the kernel. Keeps the axes with extent 1.
Tensor reduce_groups(const Tensor& x, const std::array<bool, Shape::max_rank>& reduced,
                     ReduceKernel kernel) {
  Tensor current = x.view(x.shape());
  for_groups(reduced, x.rank(), [&](int first, int last) {
    Tensor next = Tensor::uninitialized(with_ones(current.shape(), first, last));
    kernel(kernels::along(current.shape(), first, last), current.data(), next.mutable_data());
    current = next;
  });
  return current;
}

Shape without_axes(const Shape& shape, const std::array<bool, Shape::max_rank>& reduced) {
  std::vector<Index> kept;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (!reduced[axis]) kept.push_back(shape[axis]);
  return Shape(kept);
}

Shape with_ones(const Shape& shape, const std::array<bool, Shape::max_rank>& reduced) {
  Shape ones = shape;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (reduced[axis]) ones = ones.with(axis, 1);
  return ones;
}

Index reduced_count(const Shape& shape, const std::array<bool, Shape::max_rank>& reduced) {
  Index count = 1;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (reduced[axis]) count *= shape[axis];
  return count;
}

void expect_elements(const char* operation, const Shape& shape,
                     const std::array<bool, Shape::max_rank>& reduced) {
  expect(reduced_count(shape, reduced) > 0, "{}: no elements to compare: {}", operation, shape);
}

// Minus the mean. Centers twice: the mean of values far from 0 is inexact, but the mean of the
// remainder is exact.
Tensor centered(const Tensor& x, const Axes& axes) {
  const auto centered_at = [&](const Tensor& v) { return v - mean(v, axes, Keep::yes); };
  return centered_at(centered_at(x));
}

double variance_divisor(const Tensor& x, const Axes& axes, Variance variance) {
  const Index count = reduced_count(x.shape(), axes.of(x.shape()));
  return static_cast<double>(variance == Variance::biased ? count : std::max<Index>(0, count - 1));
}

// The reduced axes last, as one axis: (kept, reduced).
Tensor as_rows(const Tensor& x, const std::array<bool, Shape::max_rank>& reduced) {
  std::vector<int> order;
  for (const bool last : {false, true})
    for (int axis = 0; axis < x.rank(); ++axis)
      if (reduced[axis] == last) order.push_back(axis);
  return reshape(permute(x, order),
                 {without_axes(x.shape(), reduced).size(), reduced_count(x.shape(), reduced)});
}

// The product over the axes [first, last).
struct Prod {
  static constexpr const char* name = "prod";

  int first, last;

  Tensor definition(const Operands<1>& in) const {
    const kernels::AlongAxis shape = kernels::along(in[0].shape(), first, last);
    Tensor y = reshape(in[0], {shape.outer, shape.length, shape.inner});
    Index count = shape.length;
    if (count == 0) y = ones({shape.outer, 1, shape.inner});
    // Halves are multiplied with each other, so that derivatives are right at 0.
    for (; count > 1; count = y.shape()[1]) {
      const Index half = count / 2;
      const Tensor products = slice(y, 1, 0, half) * slice(y, 1, half, 2 * half);
      y = concat({products, slice(y, 1, 2 * half, count)}, 1);
    }
    return reshape(y, with_ones(in[0].shape(), first, last));
  }
  Tensor value(const Operands<1>& in) const {
    Tensor y = Tensor::uninitialized(with_ones(in[0].shape(), first, last));
    kernels::prod(kernels::along(in[0].shape(), first, last), in[0].data(), y.mutable_data());
    return y;
  }
  Gradients<1> gradients(const Operands<1>& in, const Tensor& g, const Wanted<1>&) const {
    Tensor dx = Tensor::uninitialized(in[0].shape());
    kernels::prod_back(kernels::along(in[0].shape(), first, last), in[0].data(), g.data(),
                       dx.mutable_data());
    return {dx};
  }
};

struct Root {
  Tensor value;
  bool ordinary = true;  // each is 0 or has a square that keeps its digits
};

// sqrt(sum x^2 / divisor), as a constant, with the reduced axes. Where squares overflow or lose
// digits, they are summed again, scaled.
Root root_of_squares(const Tensor& x, const std::array<bool, Shape::max_rank>& reduced,
                     double divisor) {
  const NoGrad values_only;
  const Tensor squares = reduce_groups(square(x), reduced, kernels::sum);
  Root root{sqrt(squares / divisor)};
  if (std::all_of(squares.values().begin(), squares.values().end(), kernels::keeps_digits))
    return root;
  const Tensor rows = as_rows(x, reduced);
  const Index length = rows.shape()[1];
  for (Index row = 0; row < squares.size(); ++row) {
    if (kernels::keeps_digits(squares.data()[row])) continue;
    const double norm = kernels::scaled_norm(rows.data() + row * length, length);
    root.value.mutable_data()[row] = static_cast<real>(norm / std::sqrt(divisor));
    root.ordinary &= norm == 0;
  }
  return root;
}

// Records the root. Its gradient, x / (divisor root), is 0 at 0. Where products of two numbers of
// its size overflow or vanish, x is divided first.
Tensor root_of_squares(const char* name, const Tensor& x, const Axes& axes, Keep keep,
                       double divisor, const Place& place) {
  const auto reduced = axes.of(x.shape());
  const auto [root, ordinary] = root_of_squares(x, reduced, divisor);
  const Tensor result = keep == Keep::yes ? root : root.view(without_axes(x.shape(), reduced));
  const auto rule = [x, ones = root.shape(), divisor, ordinary = ordinary](const Tensor& g,
                                                                           const Tensor& y) {
    const Tensor length = reshape(y, ones), is_zero = equal(length, 0.0);
    const Tensor slope = where(is_zero, 0.0, reshape(g / divisor, ones)),
                 by = where(is_zero, 1.0, length);
    return ordinary ? slope / by * x : x / by * slope;
  };
  return record(name, result, place, edge(x, rule));
}

}  // namespace

Tensor sum(const Tensor& x, const Axes& axes, Keep keep, Place place) {
  const OperationScope scope("sum", place, x);
  const auto reduced = axes.of(x.shape());
  const Tensor total = reduce_groups(x, reduced, kernels::sum);
  const Shape ones = with_ones(x.shape(), reduced);
  const Tensor result = keep == Keep::yes ? total : total.view(without_axes(x.shape(), reduced));
  return record("sum", result, place, edge(x, [ones, shape = x.shape()](const Tensor& g) {
                  return broadcast_to(reshape(g, ones), shape);
                }));
}

Tensor prod(const Tensor& x, const Axes& axes, Keep keep, Place place) {
  const OperationScope scope("prod", place, x);
  const auto reduced = axes.of(x.shape());
  Tensor y = x;
  for_groups(reduced, x.rank(), [&](int first, int last) {
    y = fused(Prod{first, last}, Operands<1>{y}, place);
  });
  return reshape(y, keep == Keep::yes ? y.shape() : without_axes(x.shape(), reduced));
}

Tensor mean(const Tensor& x, const Axes& axes, Keep keep, Place place) {
  const OperationScope scope("mean", place, x);
  const Index count = reduced_count(x.shape(), axes.of(x.shape()));
  return sum(x, axes, keep) / static_cast<double>(count);
}

Tensor var(const Tensor& x, const Axes& axes, Keep keep, Variance divisor, Place place) {
  const OperationScope scope("var", place, x);
  return sum(square(centered(x, axes)), axes, keep) / variance_divisor(x, axes, divisor);
}

Tensor stddev(const Tensor& x, const Axes& axes, Keep keep, Variance divisor, Place place) {
  const OperationScope scope("stddev", place, x);
  return root_of_squares("stddev", centered(x, axes), axes, keep,
                         variance_divisor(x, axes, divisor), place);
}

Tensor norm(const Tensor& x, const Axes& axes, Keep keep, Place place) {
  const OperationScope scope("norm", place, x);
  return root_of_squares("norm", x, axes, keep, 1, place);
}

Tensor max(const Tensor& x, const Axes& axes, Keep keep, Place place) {
  const OperationScope scope("max", place, x);
  const auto reduced = axes.of(x.shape());
  expect_elements("max", x.shape(), reduced);
  const Tensor kept = reduce_groups(x, reduced, kernels::max);
  const Tensor result = keep == Keep::yes ? kept : kept.view(without_axes(x.shape(), reduced));
  return record("max", result, place, edge(x, [x, kept, axes](const Tensor& g) {
                  const Tensor winners = chosen(x, kept);
                  const Tensor count = sum(winners, axes, Keep::yes);
                  return weighed(reshape(g, kept.shape()) / count, winners);
                }));
}

Tensor min(const Tensor& x, const Axes& axes, Keep keep, Place place) {
  const OperationScope scope("min", place, x);
  expect_elements("min", x.shape(), axes.of(x.shape()));
  return -max(-x, axes, keep);
}

Tensor logsumexp(const Tensor& x, const Axes& axes, Keep keep, Place place) {
  const OperationScope scope("logsumexp", place, x);
  const auto reduced = axes.of(x.shape());
  Tensor shift = 0;
  if (reduced_count(x.shape(), reduced) > 0) {
    const Tensor greatest = detach(max(x, axes, Keep::yes));
    // An infinite maximum is not subtracted: inf - inf would be NaN.
    const Tensor infinite = equal(abs(greatest), std::numeric_limits<double>::infinity());
    shift = where(infinite, 0.0, greatest);
  }
  const Tensor total = log(sum(exp(x - shift), axes, Keep::yes)) + shift;
  return keep == Keep::yes ? total : reshape(total, without_axes(x.shape(), reduced));
}

Indices argmax(const Tensor& x, int axis, Place place) {
  const OperationScope scope("argmax", place, x);
  axis = x.shape().resolve(axis);
  const Index length = x.shape()[axis];
  expect(length > 0, "argmax: axis {} of {} is empty", axis, x.shape());
  const Index outer = x.shape().count(0, axis), inner = x.shape().count(axis + 1, x.rank());
  Indices best = Indices::uninitialized(x.shape().without(axis));
  for (Index o = 0; o < outer; ++o)
    for (Index i = 0; i < inner; ++i) {
      const real* column = x.data() + o * length * inner + i;
      Index at = 0;
      for (Index r = 1; r < length && !std::isnan(column[at * inner]); ++r)
        if (column[r * inner] > column[at * inner] || std::isnan(column[r * inner])) at = r;
      best.mutable_data()[o * inner + i] = at;
    }
  return best;
}

Indices argmin(const Tensor& x, int axis, Place place) {
  const OperationScope scope("argmin", place, x);
  expect(x.shape()[axis] > 0, "argmin: axis {} of {} is empty", axis, x.shape());
  return argmax(-detach(x), axis);
}

Tensor sum_to(const Tensor& x, const Shape& shape, Place place) {
  const OperationScope scope("sum_to", place, x);
  if (x.shape() == shape) return x;
  const int extra = x.rank() - shape.rank();
  expect(extra >= 0 && broadcast("sum_to", x.shape(), shape) == x.shape(),
         "sum_to: {} was not broadcast from {}", x.shape(), shape);
  std::array<bool, Shape::max_rank> reduced{};
  for (int axis = 0; axis < x.rank(); ++axis)
    reduced[axis] = axis < extra || (shape[axis - extra] == 1 && x.shape()[axis] != 1);
  const Tensor total = reduce_groups(x, reduced, kernels::sum);
  return record("sum_to", total.view(shape), place,
                edge(x, [from = x.shape()](const Tensor& g) { return broadcast_to(g, from); }));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
