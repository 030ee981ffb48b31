#include "tapegrad/ops/internal/apply.h"
#include "tapegrad/core/profile.h"

#include <algorithm>
#include <vector>

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// Nested loops over two operands that broadcast. Neighbouring axes along which each operand moves
// the same way become one loop. The innermost loop runs in a kernel.
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

// Both operands have the shape of the result.
void zip_into(kernels::Binary loop, const Tensor& a, const Tensor& b, real* out) {
  count_pass(2 * a.size(), a.size());
  parallel_ranges(a.size(), elements_per_tile, [&](Index begin, Index end) {
    loop({a.data() + begin, false}, {b.data() + begin, false}, out + begin, end - begin);
  });
}

Tensor zip(kernels::Binary loop, const Tensor& a, const Tensor& b) {
  Tensor y = Tensor::uninitialized(a.shape());
  zip_into(loop, a, b, y.mutable_data());
  return y;
}

void broadcast_into(kernels::Binary loop, const Tensor& a, const Tensor& b, const Shape& shape,
                    real* out) {
  const Index count = shape.size();
  if (count == 0) return;
  const BroadcastLoops loops(shape, a.shape(), b.shape());
  const Index inner = loops.inner().extent;
  const bool single_a = loops.inner().a == 0, single_b = loops.inner().b == 0;
  if (inner == count) {
    parallel_ranges(count, elements_per_tile, [&](Index begin, Index end) {
      loop({a.data() + (single_a ? 0 : begin), single_a},
           {b.data() + (single_b ? 0 : begin), single_b}, out + begin, end - begin);
    });
    return;
  }
  parallel_ranges(
      count / inner, std::max<Index>(1, elements_per_tile / inner), [&](Index begin, Index end) {
        for (Index row = begin; row < end; ++row) {
          const auto [at_a, at_b] = loops.offsets(row);
          loop({a.data() + at_a, single_a}, {b.data() + at_b, single_b}, out + row * inner, inner);
        }
      });
}

}  // namespace

Tensor apply(const char* operation, kernels::Unary loop, const Tensor& x) {
  expect_defined(operation, x);
  count_pass(x.size(), x.size());
  Tensor y = Tensor::uninitialized(x.shape());
  real* out = y.mutable_data();
  parallel_ranges(x.size(), elements_per_tile, [&](Index begin, Index end) {
    loop(x.data() + begin, out + begin, end - begin);
  });
  return y;
}

Tensor apply(const char* operation, kernels::Binary loop, const Tensor& a, const Tensor& b) {
  expect_defined(operation, a, b);
  if (a.shape() == b.shape()) return zip(loop, a, b);
  Tensor y = Tensor::uninitialized(broadcast(operation, a.shape(), b.shape()));
  count_pass(a.size() + b.size(), y.size());
  broadcast_into(loop, a, b, y.shape(), y.mutable_data());
  return y;
}

void add_in_place(Tensor& a, const Tensor& b) {
  zip_into(kernels::elementwise().add, a, b, a.mutable_data());
}

Tensor stretched(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  count_pass(x.size(), shape.size());
  Tensor y = Tensor::uninitialized(shape);
  // Returns the first operand. The second only provides the shape for the loops.
  const auto first = [](kernels::Span a, kernels::Span, real* out, Index count) {
    if (a.single)
      std::fill_n(out, count, *a.values);
    else
      std::copy_n(a.values, count, out);
  };
  broadcast_into(first, x, x, shape, y.mutable_data());
  return y;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
