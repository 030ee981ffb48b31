#include "tapegrad/ops/order.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tapegrad/core/error.h"
#include "tapegrad/core/parallel.h"
#include "tapegrad/core/profile.h"
#include "tapegrad/ops/index.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// A tensor as (outer, length, inner) around one axis.
struct Around {
  Index outer, length, inner;
};
Around around(const Shape& shape, int axis) {
  return {shape.count(0, axis), shape[axis], shape.count(axis + 1, shape.rank())};
}

// The number of slabs of (length, inner) elements per task.
Index slabs_per_task(const Around& a) {
  return std::max<Index>(1, elements_per_tile / std::max<Index>(1, a.length * a.inner));
}

// Running sums of one slab, from the first element forward or from the last one backward.
void cumulate(const real* x, const Around& a, bool backward, real* y) {
  std::vector<double> totals(a.inner);
  for (Index r = 0; r < a.length; ++r) {
    const Index row = (backward ? a.length - 1 - r : r) * a.inner;
    for (Index i = 0; i < a.inner; ++i)
      y[row + i] = static_cast<real>(totals[i] += static_cast<double>(x[row + i]));
  }
}

// The transpose of running sums in one direction is running sums in the other.
Tensor cumulated(const Tensor& x, int axis, bool backward, Place place = Place::here()) {
  const Around a = around(x.shape(), axis);
  count_pass(x.size(), x.size());
  Tensor y = Tensor::uninitialized(x.shape());
  real* out = y.mutable_data();
  parallel_ranges(a.outer, slabs_per_task(a), [&](Index begin, Index end) {
    for (Index o = begin; o < end; ++o) {
      const Index slab = o * a.length * a.inner;
      cumulate(x.data() + slab, a, backward, out + slab);
    }
  });
  const char* name = backward ? "cumsum_backward" : "cumsum";
  return record(name, y, place, edge(x, [axis, backward](const Tensor& g) {
                  return cumulated(g, axis, !backward);
                }));
}

// Whether one element of a column comes before another. Positions decide between equal elements, so
// the order does not depend on the algorithm.
struct Before {
  const real* column;
  Index inner;
  bool descending;

  bool operator()(Index first, Index second) const {
    const real a = column[first * inner], b = column[second * inner];
    if (less(a, b)) return !descending;
    if (less(b, a)) return descending;
    return first < second;
  }
  static bool less(real a, real b) { return a < b || (std::isnan(b) && !std::isnan(a)); }
};

// The positions of the first `count` elements of each column along the axis.
Indices ordered_positions(const Tensor& x, int axis, Index count, bool descending) {
  const Around a = around(x.shape(), axis);
  Indices positions = Indices::uninitialized(x.shape().with(axis, count));
  count_pass(x.size(), positions.size());
  Index* out = positions.mutable_data();
  parallel_ranges(a.outer, slabs_per_task(a), [&](Index begin, Index end) {
    std::vector<Index> column(a.length);
    for (Index o = begin; o < end; ++o)
      for (Index i = 0; i < a.inner; ++i) {
        std::iota(column.begin(), column.end(), Index{0});
        const Before before{x.data() + o * a.length * a.inner + i, a.inner, descending};
        if (count == a.length)
          std::sort(column.begin(), column.end(), before);
        else
          std::partial_sort(column.begin(), column.begin() + count, column.end(), before);
        for (Index r = 0; r < count; ++r) out[(o * count + r) * a.inner + i] = column[r];
      }
  });
  return positions;
}

}  // namespace

Tensor cumsum(const Tensor& x, int axis, Place place) {
  expect_defined("cumsum", x);
  return cumulated(x, x.shape().resolve(axis), false, place);
}

Sorted sort(const Tensor& x, int axis, bool descending, Place place) {
  expect_defined("sort", x);
  axis = x.shape().resolve(axis);
  const Indices positions = ordered_positions(x, axis, x.shape()[axis], descending);
  return {gather(x, axis, positions, place), positions};
}

Sorted top_k(const Tensor& x, Index k, int axis, Place place) {
  expect_defined("top_k", x);
  axis = x.shape().resolve(axis);
  expect(k >= 0 && k <= x.shape()[axis], "top_k: axis {} of {} has no {} elements", axis, x.shape(),
         k);
  const Indices positions = ordered_positions(x, axis, k, true);
  return {gather(x, axis, positions, place), positions};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
