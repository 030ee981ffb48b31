#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/ops/kernels/pool.cpp"
#include <hwy/foreach_target.h>
// The order matters: Highway includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <vector>

#include "tapegrad/core/machine/instruction_set.h"
#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/machine/profile.h"
#include "tapegrad/ops/kernels/math-inl.h"
#include "tapegrad/ops/kernels/pool.h"

HWY_BEFORE_NAMESPACE();
namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE {
namespace {

// Lane j: x[j stride], for strides of 1 and 2
Vector load_strided(const real* x, Index stride) {
  const Tag d;
  if (stride == 1) return hn::LoadU(d, x);
  Vector even, odd;
  hn::LoadInterleaved2(d, x, even, odd);
  return even;
}

// Processes as many windows at a time as a vector has lanes, element by element and without
// branches, since the winner is unpredictable.
void max(const PoolLine& line, const real* plane, Index start, Index* best) {
  const Tag d;
  const hn::RebindToSigned<Tag> positions;
  const auto all = [&](Index value) {
    return hn::Set(positions, static_cast<PoolPosition>(value));
  };
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  HWY_ALIGN PoolPosition found[hn::MaxLanes(d)];
  for (Index first = 0; first < line.windows; first += lanes) {
    const auto begin = hn::LoadU(positions, line.begins + first);
    const auto end = hn::LoadU(positions, line.ends + first);
    Vector greatest = hn::Neg(hn::Inf(d));
    auto winner = hn::Add(begin, all(line.rows.begin * line.width));
    for (Index row = line.rows.begin; row < line.rows.end; ++row)
      for (Index place = 0; place < line.longest; ++place) {
        const auto column = hn::Add(begin, all(place));
        const auto inside = hn::Lt(column, end);
        const auto at = hn::IfThenElseZero(inside, hn::Add(column, all(row * line.width)));
        // Loads are several times as fast as a gather, but must not read beyond the last plane.
        const real* from = plane + row * line.width + line.begins[first] + place;
        const bool loads = line.stride > 0 && line.end - from >= line.stride * lanes;
        const Vector elements =
            loads ? load_strided(from, line.stride) : hn::GatherIndex(d, plane, at);
        const Vector v = hn::IfThenElse(hn::RebindMask(d, inside), elements, hn::Neg(hn::Inf(d)));
        const auto wins = hn::Or(hn::Gt(v, greatest), hn::IsNaN(v));
        greatest = hn::IfThenElse(wins, v, greatest);
        winner = hn::IfThenElse(hn::RebindMask(positions, wins), at, winner);
      }
    hn::Store(winner, positions, found);
    for (Index j = first; j < std::min(first + lanes, line.windows); ++j)
      best[j] = start + found[j - first];
  }
}

}  // namespace

const PoolLoops* pool_here() {
  static constexpr PoolLoops loops{.lanes = hn::MaxLanes(Tag()), .max = max};
  return &loops;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad::TAPEGRAD_SCALAR::kernels {
HWY_EXPORT(pool_here);
const PoolLoops& pool_loops() {
  return detail::dispatched([] { return HWY_DYNAMIC_DISPATCH(pool_here)(); });
}

namespace {

// The value of PoolLine::stride.
Index stride_of(std::span<const PoolWindow> windows) {
  for (const Index stride : {1, 2}) {
    const auto irregular = [=](const PoolWindow& a, const PoolWindow& b) {
      return b.begin - a.begin != stride;
    };
    if (std::adjacent_find(windows.begin(), windows.end(), irregular) == windows.end())
      return stride;
  }
  return 0;
}

}  // namespace

void max_pool(const PoolSizes& s, const real* x, Index* winners) {
  const auto rows = static_cast<Index>(s.rows.size());
  const auto columns = static_cast<Index>(s.columns.size());
  count_pass(s.planes * s.height * s.width, s.planes * rows * columns);
  const auto with_room = static_cast<std::size_t>(columns + pool_loops().lanes);
  std::vector<PoolPosition> begins(with_room), ends(with_room);
  Index longest = 0, highest = 1;
  for (std::size_t j = 0; j < s.columns.size(); ++j) {
    begins[j] = static_cast<PoolPosition>(s.columns[j].begin);
    ends[j] = static_cast<PoolPosition>(s.columns[j].end);
    longest = std::max(longest, s.columns[j].end - s.columns[j].begin);
  }
  for (const PoolWindow& window : s.rows) highest = std::max(highest, window.end - window.begin);
  const Index stride = stride_of(s.columns);
  const Index line_elements = std::max<Index>(1, highest * s.width);
  parallel_ranges(s.planes * rows, std::max<Index>(1, elements_per_tile / line_elements),
                  [&](Index begin, Index end) {
                    for (Index line = begin; line < end; ++line) {
                      const Index plane = line / rows * s.height * s.width;
                      pool_loops().max({.windows = columns,
                                        .rows = s.rows[static_cast<std::size_t>(line % rows)],
                                        .width = s.width,
                                        .begins = begins.data(),
                                        .ends = ends.data(),
                                        .longest = longest,
                                        .stride = stride,
                                        .end = x + s.planes * s.height * s.width},
                                       x + plane, plane, winners + line * columns);
                    }
                  });
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
#endif
