#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/ops/kernels/pool.cpp"
#include <hwy/foreach_target.h>
// The order matters: Highway includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "tapegrad/core/instruction_set.h"
#include "tapegrad/core/parallel.h"
#include "tapegrad/core/profile.h"
#include "tapegrad/ops/kernels/math-inl.h"
#include "tapegrad/ops/kernels/pool.h"

HWY_BEFORE_NAMESPACE();
namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE {
namespace {

// Processes as many windows at a time as a vector has lanes, element by element and without
// branches, since the winner is unpredictable.
void max(const PoolLine& line, const real* plane, Index start, Index* best) {
  const Tag d;
  const hn::RebindToSigned<Tag> positions;
  using Position = hn::TFromD<decltype(positions)>;
  const auto all = [&](Index value) { return hn::Set(positions, static_cast<Position>(value)); };
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const auto zero = hn::Zero(positions), width = all(line.width);
  const auto from_first = hn::Mul(hn::Iota(positions, 0), all(line.stride));
  HWY_ALIGN Position found[hn::MaxLanes(d)];
  for (Index first = 0; first < line.windows; first += lanes) {
    const auto left = hn::Add(from_first, all(first * line.stride - line.padding));
    Vector greatest = hn::Neg(hn::Inf(d));
    auto winner = hn::Add(hn::Max(left, zero), all(line.top * line.width));
    for (Index row = line.top; row < line.bottom; ++row)
      for (Index place = 0; place < line.size; ++place) {
        const auto column = hn::Add(left, all(place));
        const auto inside = hn::AndNot(hn::Lt(column, zero), hn::Lt(column, width));
        const auto at = hn::IfThenElseZero(inside, hn::Add(column, all(row * line.width)));
        const Vector v = hn::IfThenElse(hn::RebindMask(d, inside), hn::GatherIndex(d, plane, at),
                                        hn::Neg(hn::Inf(d)));
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
  static constexpr PoolLoops loops{.max = max};
  return &loops;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad::TAPEGRAD_SCALAR::kernels {
HWY_EXPORT(pool_here);
const PoolLoops& pool_loops() {
  static const PoolLoops& best =
      *detail::dispatched([] { return HWY_DYNAMIC_DISPATCH(pool_here)(); });
  return best;
}

void max_pool(const PoolSizes& s, const real* x, Index* winners) {
  const Index lines = s.planes * s.out_height;
  count_pass(s.planes * s.height * s.width, lines * s.out_width);
  const Index line_elements = std::max<Index>(1, s.size * s.width);
  parallel_ranges(lines, std::max<Index>(1, elements_per_tile / line_elements),
                  [&](Index begin, Index end) {
                    for (Index line = begin; line < end; ++line) {
                      const Index plane = line / s.out_height * s.height * s.width;
                      const Index top = line % s.out_height * s.stride - s.padding;
                      pool_loops().max({.windows = s.out_width,
                                        .top = std::max<Index>(top, 0),
                                        .bottom = std::min(top + s.size, s.height),
                                        .width = s.width,
                                        .size = s.size,
                                        .stride = s.stride,
                                        .padding = s.padding},
                                       x + plane, plane, winners + line * s.out_width);
                    }
                  });
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
#endif
