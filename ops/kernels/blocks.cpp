#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/ops/kernels/blocks.cpp"
#include <hwy/foreach_target.h>
// The order matters: Highway includes this file once for each instruction set.
#include <hwy/highway.h>

#include "tapegrad/core/machine/instruction_set.h"
#include "tapegrad/ops/kernels/blocks.h"
#include "tapegrad/ops/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE {
namespace {

// Calls body(tag, from, to) for pieces of rows: whole vectors, then narrower and narrower ones.
// Masks would also handle the rest of a row, but a load after an overlapping masked store stalls.
template <std::size_t lanes, class Body>
void for_pieces(Index rows, Index columns, const real* from, Index from_stride, real* to,
                Index to_stride, const Body& body) {
  const hn::CappedTag<real, lanes> d;
  const auto width = static_cast<Index>(hn::Lanes(d));
  for (; columns >= width; columns -= width, from += width, to += width)
    for (Index r = 0; r < rows; ++r) body(d, from + r * from_stride, to + r * to_stride);
  if constexpr (lanes > 1)
    if (columns > 0) for_pieces<lanes / 2>(rows, columns, from, from_stride, to, to_stride, body);
}

void copy(Index rows, Index columns, const real* from, Index from_stride, real* to,
          Index to_stride) {
  for_pieces<hn::MaxLanes(Tag())>(
      rows, columns, from, from_stride, to, to_stride,
      [](auto d, const real* a, real* b) { hn::StoreU(hn::LoadU(d, a), d, b); });
}

void add(Index rows, Index columns, const real* from, Index from_stride, real* to,
         Index to_stride) {
  for_pieces<hn::MaxLanes(Tag())>(rows, columns, from, from_stride, to, to_stride,
                                  [](auto d, const real* a, real* b) {
                                    hn::StoreU(hn::Add(hn::LoadU(d, b), hn::LoadU(d, a)), d, b);
                                  });
}

}  // namespace

const Blocks* blocks_here() {
  static constexpr Blocks loops{.copy = copy, .add = add};
  return &loops;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad::TAPEGRAD_SCALAR::kernels {
HWY_EXPORT(blocks_here);
const Blocks& blocks() {
  return detail::dispatched([] { return HWY_DYNAMIC_DISPATCH(blocks_here)(); });
}
}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
#endif
