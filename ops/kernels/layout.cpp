#include "tapegrad/ops/kernels/layout.h"

#include <algorithm>

#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/machine/profile.h"
#include "tapegrad/ops/kernels/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {
namespace {

Index size_of_part(const Slice& s) { return s.whole.outer * s.count * s.whole.inner; }

// Calls body(offset in the whole, offset in the part, count) for each run of elements.
template <class Body>
void for_runs(Slice s, const Body& body) {
  const auto [outer, length, inner] = s.whole;
  const Index runs = s.step == 1 ? 1 : s.count, run = s.step == 1 ? s.count * inner : inner;
  for (Index o = 0; o < outer; ++o)
    for (Index r = 0; r < runs; ++r)
      body((o * length + s.begin + r * s.step) * inner, o * s.count * inner + r * run, run);
}

}  // namespace

void permute(std::span<const Index> extents, std::span<const Index> strides, const real* x,
             real* y) {
  Index count = 1;
  for (const Index extent : extents) count *= extent;
  count_pass(count, count);
  if (count == 0) return;
  const auto rank = static_cast<int>(extents.size());
  const Index inner = rank == 0 ? 1 : extents[rank - 1], stride = rank == 0 ? 1 : strides[rank - 1];
  parallel_ranges(count / inner, std::max<Index>(1, elements_per_tile / inner),
                  [&](Index begin, Index end) {
                    for (Index row = begin; row < end; ++row) {
                      Index rest = row, from = 0;
                      for (int i = rank - 2; i >= 0; --i) {
                        from += rest % extents[i] * strides[i];
                        rest /= extents[i];
                      }
                      for (Index j = 0; j < inner; ++j) y[row * inner + j] = x[from + j * stride];
                    }
                  });
}

void take_slice(const Slice& slice, const real* whole, real* part) {
  count_pass(size_of_part(slice), size_of_part(slice));
  for_runs(slice, [&](Index in_whole, Index in_part, Index count) {
    std::copy_n(whole + in_whole, count, part + in_part);
  });
}

void put_slice(const Slice& slice, const real* part, real* whole) {
  count_pass(size_of_part(slice), size_of_part(slice));
  for_runs(slice, [&](Index in_whole, Index in_part, Index count) {
    std::copy_n(part + in_part, count, whole + in_whole);
  });
}

void add_slice(const Slice& slice, const real* part, real* whole) {
  count_pass(2 * size_of_part(slice), size_of_part(slice));
  for_runs(slice, [&](Index in_whole, Index in_part, Index count) {
    reduce().accumulate(part + in_part, whole + in_whole, count);
  });
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
