#include "tapegrad/ops/kernels/order.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "tapegrad/core/internal/storage.h"
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

constexpr Index most_columns = 256;

// Calls body(slab, first, width) for pieces of the columns of (rows, inner) elements.
template <class Body>
void for_columns(Index slabs, Index rows, Index inner, const Body& body) {
  const Index pieces = (inner + most_columns - 1) / most_columns;
  const AlongAxis piece{1, rows, std::min(inner, most_columns)};
  parallel_ranges(slabs * pieces, slabs_per_task(piece), [&](Index begin, Index end) {
    for (Index task = begin; task < end; ++task) {
      const Index first = task % pieces * most_columns;
      body(task / pieces, first, std::min(most_columns, inner - first));
    }
  });
}

// Several products at a time, since each waits for the one before.
double product_of_row(const real* x, Index count) {
  double products[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  for (; count >= 8; count -= 8, x += 8)
    for (int i = 0; i < 8; ++i) products[i] *= x[i];
  for (Index i = 0; i < count; ++i) products[i] *= x[i];
  return std::accumulate(products, products + 8, 1.0, std::multiplies<>());
}

// The products of the columns. A long column is cut into tasks.
std::vector<double> column_products(const AlongAxis& shape, const real* x) {
  const Index outer = shape.outer, length = shape.length, inner = shape.inner;
  const Index rows = slabs_per_task({1, 1, std::min(inner, most_columns)});
  const Index parts = std::max<Index>(1, (length + rows - 1) / rows);
  std::vector<double> products(outer * parts * inner, 1.0);
  const auto multiply_part = [&](Index slab, Index first, Index width) {
    double* product = products.data() + slab * inner + first;
    const Index begin = slab % parts * rows, end = std::min(length, begin + rows);
    const real* from = x + (slab / parts * length + begin) * inner + first;
    if (inner == 1) {
      *product = product_of_row(from, end - begin);
      return;
    }
    for (Index r = begin; r < end; ++r, from += inner)
      for (Index i = 0; i < width; ++i) product[i] *= from[i];
  };
  for_columns(outer * parts, std::min(length, rows), inner, multiply_part);
  for (Index o = 0; o < outer; ++o)
    for (Index part = 0; part < parts; ++part)
      for (Index i = 0; i < inner; ++i) {
        double& product = products[o * inner + i];
        const double next = products[(o * parts + part) * inner + i];
        product = part == 0 ? next : product * next;
      }
  products.resize(outer * inner);
  return products;
}

// dx of some columns, where slope(r, i) is the gradient of the product of the rows up to r. An
// element's gradient is the product of those before times a sum over later slopes, by Horner's
// scheme.
template <class Slope>
void products_back(Index length, Index inner, Index width, const real* x, const Slope& slope,
                   real* dx) {
  const Storage memory =
      Storage::allocate(sizeof(double) * static_cast<std::size_t>(length * width));
  auto* const before = static_cast<double*>(memory.data());
  double product[most_columns], after[most_columns];
  std::fill_n(product, width, 1.0);
  std::fill_n(after, width, 0.0);
  for (Index r = 0; r < length; ++r)
    for (Index i = 0; i < width; ++i) {
      before[r * width + i] = product[i];
      product[i] *= x[r * inner + i];
    }
  for (Index r = length - 1; r >= 0; --r)
    for (Index i = 0; i < width; ++i) {
      after[i] += slope(r, i);
      dx[r * inner + i] = static_cast<real>(before[r * width + i] * after[i]);
      after[i] *= x[r * inner + i];
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

void cumprod(const AlongAxis& shape, const real* x, real* y) {
  const Index length = shape.length, inner = shape.inner;
  count_pass(shape.outer * length * inner, shape.outer * length * inner);
  for_columns(shape.outer, length, inner, [&](Index slab, Index first, Index width) {
    double products[most_columns];
    std::fill_n(products, width, 1.0);
    for (Index r = 0; r < length; ++r) {
      const Index at = (slab * length + r) * inner + first;
      for (Index i = 0; i < width; ++i)
        y[at + i] = static_cast<real>(products[i] *= static_cast<double>(x[at + i]));
    }
  });
}

void cumprod_back(const AlongAxis& shape, const real* x, const real* g, real* dx) {
  const Index length = shape.length, inner = shape.inner;
  count_pass(2 * shape.outer * length * inner, shape.outer * length * inner);
  for_columns(shape.outer, length, inner, [&](Index slab, Index first, Index width) {
    const Index at = slab * length * inner + first;
    const auto slope = [&](Index r, Index i) { return static_cast<double>(g[at + r * inner + i]); };
    products_back(length, inner, width, x + at, slope, dx + at);
  });
}

void prod(const AlongAxis& shape, const real* x, real* y) {
  count_pass(shape.outer * shape.length * shape.inner, shape.outer * shape.inner);
  const std::vector<double> products = column_products(shape, x);
  std::transform(products.begin(), products.end(), y,
                 [](double each) { return static_cast<real>(each); });
}

void prod_back(const AlongAxis& shape, const real* x, const real* g, real* dx) {
  const Index length = shape.length, inner = shape.inner;
  count_pass(2 * shape.outer * length * inner, shape.outer * length * inner);
  const std::vector<double> products = column_products(shape, x);
  const auto is_normal = [](double product) { return std::isnormal(product); };
  // An ordinary product is divided by each of its factors.
  parallel_ranges(shape.outer * length, slabs_per_task({1, 1, inner}), [&](Index row, Index end) {
    while (row < end) {
      const Index slab = row / length;
      const double* product = products.data() + slab * inner;
      const real* slope = g + slab * inner;
      for (const Index last = std::min(end, (slab + 1) * length); row < last; ++row)
        for (Index i = 0; i < inner; ++i)
          dx[row * inner + i] = static_cast<real>(product[i] / x[row * inner + i] * slope[i]);
    }
  });
  if (std::all_of(products.begin(), products.end(), is_normal)) return;
  for_columns(shape.outer, length, inner, [&](Index slab, Index first, Index width) {
    const Index column = slab * inner + first, at = slab * length * inner + first;
    if (std::all_of(products.data() + column, products.data() + column + width, is_normal)) return;
    const auto slope = [&](Index r, Index i) {
      return r + 1 == length ? static_cast<double>(g[column + i]) : 0.0;
    };
    products_back(length, inner, width, x + at, slope, dx + at);
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
