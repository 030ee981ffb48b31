#include "tapegrad/ops/kernels/apply.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/machine/profile.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {
namespace {

// Two operands of a broadcast result, as nested loops. Neighbouring axes in which each operand
// moves the same way are one loop; the innermost loop runs in a kernel.
class BroadcastLoops {
 public:
  BroadcastLoops(const Shape& result, const Shape& a, const Shape& b) {
    Index stride_a = 1, stride_b = 1;
    for (int back = 1; back <= result.rank(); ++back) {
      const Index extent = result[-back];
      const Index extent_a = back <= a.rank() ? a[-back] : 1;
      const Index extent_b = back <= b.rank() ? b[-back] : 1;
      if (extent != 1) {
        const bool moves_a = extent_a != 1, moves_b = extent_b != 1;
        if (loops_.empty() || moves_a != (loops_.back().a != 0) ||
            moves_b != (loops_.back().b != 0))
          loops_.push_back({extent, moves_a ? stride_a : 0, moves_b ? stride_b : 0});
        else
          loops_.back().extent *= extent;
      }
      stride_a *= extent_a;
      stride_b *= extent_b;
    }
    if (loops_.empty()) loops_.push_back({1, 0, 0});
  }

  struct Loop {
    Index extent, a, b;
  };
  const Loop& inner() const { return loops_.front(); }

  // The offsets of an iteration of the outer loops.
  std::pair<Index, Index> offsets(Index iteration) const {
    Index a = 0, b = 0;
    for (std::size_t i = 1; i < loops_.size(); ++i) {
      const Index position = iteration % loops_[i].extent;
      iteration /= loops_[i].extent;
      a += position * loops_[i].a;
      b += position * loops_[i].b;
    }
    return {a, b};
  }

 private:
  std::vector<Loop> loops_;  // innermost first
};

void broadcast(Binary loop, const Operand& a, const Operand& b, const Shape& shape, real* y) {
  const Index count = shape.size();
  if (count == 0) return;
  const BroadcastLoops loops(shape, a.shape, b.shape);
  const Index inner = loops.inner().extent;
  const bool single_a = loops.inner().a == 0, single_b = loops.inner().b == 0;
  if (inner == count) {
    parallel_ranges(count, elements_per_tile, [&](Index begin, Index end) {
      loop({a.values + (single_a ? 0 : begin), single_a},
           {b.values + (single_b ? 0 : begin), single_b}, y + begin, end - begin);
    });
    return;
  }
  parallel_ranges(
      count / inner, std::max<Index>(1, elements_per_tile / inner),
      [=, &loops](Index begin, Index end) {
        for (Index row = begin; row < end; ++row) {
          const auto [at_a, at_b] = loops.offsets(row);
          loop({a.values + at_a, single_a}, {b.values + at_b, single_b}, y + row * inner, inner);
        }
      });
}

}  // namespace

void apply(Unary loop, Index count, const real* x, real* y) {
  count_pass(count, count);
  parallel_ranges(count, elements_per_tile,
                  [&](Index begin, Index end) { loop(x + begin, y + begin, end - begin); });
}

void apply(Binary loop, Index count, const real* a, const real* b, real* y) {
  count_pass(2 * count, count);
  parallel_ranges(count, elements_per_tile, [&](Index begin, Index end) {
    loop({a + begin, false}, {b + begin, false}, y + begin, end - begin);
  });
}

void apply(Binary loop, const Operand& a, const Operand& b, const Shape& shape, real* y) {
  count_pass(a.shape.size() + b.shape.size(), shape.size());
  broadcast(loop, a, b, shape, y);
}

void stretch(const Operand& x, const Shape& shape, real* y) {
  count_pass(x.shape.size(), shape.size());
  // The first operand alone, whatever the second; its shape makes the loops.
  const auto first = [](Span a, Span, real* out, Index count) {
    if (a.single)
      std::fill_n(out, count, *a.values);
    else
      std::copy_n(a.values, count, out);
  };
  broadcast(first, x, x, shape, y);
}

void choose(Index count, const real* condition, const real* a, const real* b, real* y) {
  count_pass(3 * count, count);
  parallel_ranges(count, elements_per_tile, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) y[i] = condition[i] != 0 ? a[i] : b[i];
  });
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
