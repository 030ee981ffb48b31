#include "tapegrad/ops/kernels/index.h"

#include <algorithm>

#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/machine/profile.h"
#include "tapegrad/ops/kernels/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

void take(std::span<const Index> positions, const real* x, real* y) {
  const auto count = static_cast<Index>(positions.size());
  const Index* at = positions.data();
  count_pass(count, count);
  parallel_ranges(count, elements_per_tile, [=](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) y[i] = x[at[i]];
  });
}

void scatter_add(std::span<const Index> positions, const real* x, real* total) {
  const auto count = static_cast<Index>(positions.size());
  count_pass(2 * count, count);
  for (const Index position : positions) total[position] += *x++;
}

void take_rows(std::span<const Index> ids, Index width, const real* table, real* y) {
  const Index count = static_cast<Index>(ids.size()) * width;
  count_pass(count, count);
  for (const Index id : ids) y = std::copy_n(table + id * width, width, y);
}

void scatter_add_rows(std::span<const Index> ids, Index width, const real* x, real* total) {
  const Index count = static_cast<Index>(ids.size()) * width;
  count_pass(2 * count, count);
  for (const Index id : ids) {
    reduce().accumulate(x, total + id * width, width);
    x += width;
  }
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
