#include "tapegrad/ops/kernels/order.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/machine/profile.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {
namespace {

// Slabs of (length, inner) elements that make a task.
Index slabs_per_task(const AlongAxis& shape) {
  return std::max<Index>(1, elements_per_tile / std::max<Index>(1, shape.length * shape.inner));
}

void cumsum_slab(const AlongAxis& shape, bool backward, const real* x, real* y) {
  std::vector<double> totals(shape.inner);
  for (Index r = 0; r < shape.length; ++r) {
    const Index row = (backward ? shape.length - 1 - r : r) * shape.inner;
    for (Index i = 0; i < shape.inner; ++i)
      y[row + i] = static_cast<real>(totals[i] += static_cast<double>(x[row + i]));
  }
}

// Whether one element of a column comes before another; positions decide between equal ones, so
// that the order is the same however it is found.
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

}  // namespace

void cumsum(const AlongAxis& shape, bool backward, const real* x, real* y) {
  const Index slab = shape.length * shape.inner;
  count_pass(shape.outer * slab, shape.outer * slab);
  parallel_ranges(shape.outer, slabs_per_task(shape), [&](Index begin, Index end) {
    for (Index o = begin; o < end; ++o) cumsum_slab(shape, backward, x + o * slab, y + o * slab);
  });
}

void sort(const AlongAxis& shape, Index count, bool descending, const real* x, Index* positions) {
  const Index outer = shape.outer, length = shape.length, inner = shape.inner;
  count_pass(outer * length * inner, outer * count * inner);
  parallel_ranges(outer, slabs_per_task(shape), [&](Index begin, Index end) {
    std::vector<Index> column(length);
    for (Index o = begin; o < end; ++o)
      for (Index i = 0; i < inner; ++i) {
        std::iota(column.begin(), column.end(), Index{0});
        const Before before{x + o * length * inner + i, inner, descending};
        if (count == length)
          std::sort(column.begin(), column.end(), before);
        else
          std::partial_sort(column.begin(), column.begin() + count, column.end(), before);
        for (Index r = 0; r < count; ++r) positions[(o * count + r) * inner + i] = column[r];
      }
  });
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
