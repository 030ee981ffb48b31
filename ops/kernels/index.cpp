#include "tapegrad/ops/kernels/index.h"

#include <algorithm>
#include <vector>

#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/machine/profile.h"
#include "tapegrad/ops/kernels/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {
namespace {

// Whether each range of `grain` positions lies behind the one before it, so that no two of them
// share a position.
bool ranges_rise(const Index* positions, Index count, Index grain) {
  struct Bounds {
    Index least, greatest;
  };
  std::vector<Bounds> ranges(static_cast<std::size_t>((count + grain - 1) / grain));
  parallel_ranges(count, grain, [&](Index begin, Index end) {
    Bounds bounds{positions[begin], positions[begin]};
    for (Index i = begin + 1; i < end; ++i)
      bounds = {std::min(bounds.least, positions[i]), std::max(bounds.greatest, positions[i])};
    ranges[static_cast<std::size_t>(begin / grain)] = bounds;
  });
  const auto overlap = [](const Bounds& a, const Bounds& b) { return b.least <= a.greatest; };
  return std::adjacent_find(ranges.begin(), ranges.end(), overlap) == ranges.end();
}

}  // namespace

void take(std::span<const Index> positions, const real* x, real* y) {
  const auto count = std::ssize(positions);
  count_pass(count, count);
  parallel_ranges(count, elements_per_tile, [=](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) y[i] = x[positions[i]];
  });
}

void scatter_add(const Index* positions, const Shape& shape, const real* x, real* total) {
  const Index count = shape.size();
  count_pass(2 * count, count);
  const auto add = [=](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) total[positions[i]] += x[i];
  };
  if (threads() > 1 && count > elements_per_tile) {
    const Index slice = shape.count(1, shape.rank());
    const Index grain = std::max<Index>(1, elements_per_tile / 4 / slice) * slice;
    if (ranges_rise(positions, count, grain)) return parallel_ranges(count, grain, add);
  }
  add(0, count);
}

void take_rows(std::span<const Index> ids, Index width, const real* table, real* y) {
  const Index count = static_cast<Index>(ids.size()) * width;
  count_pass(count, count);
  const Index rows = std::max<Index>(1, elements_per_tile / std::max<Index>(1, width));
  parallel_ranges(std::ssize(ids), rows, [=](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) std::copy_n(table + ids[i] * width, width, y + i * width);
  });
}

void scatter_add_rows(std::span<const Index> ids, Index width, const real* x, real* total) {
  const Index count = static_cast<Index>(ids.size()) * width;
  count_pass(2 * count, count);
  for (Index i = 0; i < std::ssize(ids); ++i)
    reduce().accumulate(x + i * width, total + ids[i] * width, width);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
