#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/ops/kernels/softmax.cpp"
#include <hwy/foreach_target.h>
// The order matters: Highway includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "tapegrad/core/machine/instruction_set.h"
#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/machine/profile.h"
#include "tapegrad/ops/kernels/elementwise.h"
#include "tapegrad/ops/kernels/math-inl.h"
#include "tapegrad/ops/kernels/reduce.h"
#include "tapegrad/ops/kernels/softmax.h"

HWY_BEFORE_NAMESPACE();
namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE {
namespace {

// Stores e^(x - shift) while summing it.
struct KeptExp {
  const real* x;
  Vector shift;
  real* y;
  Vector add(Vector total, Index i) const {
    const Vector e = exp_of(hn::Sub(hn::LoadU(Tag(), x + i), shift));
    hn::StoreU(e, Tag(), y + i);
    return hn::Add(total, e);
  }
  real at(Index) const { return 0; }  // sums of whole vectors only
};

real exp_sum(const real* x, Index count, real shift, real* y) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const Index whole = count / lanes * lanes, rest = count - whole;
  const KeptExp term{x, hn::Set(d, shift), y};
  const real total = sum_of(whole, term);
  if (rest == 0) return total;
  const Vector e = exp_of(hn::Sub(load_first(x + whole, rest), term.shift));
  store_first(e, y + whole, rest);
  const auto present = hn::FirstN(d, static_cast<std::size_t>(rest));
  return total + hn::GetLane(hn::SumOfLanes(d, hn::IfThenElseZero(present, e)));
}

void backward(real* s, real* dp, Index count, SoftmaxRow row, real mean, real scale) {
  const Tag d;
  const Vector shift = hn::Set(d, row.greatest), share = hn::Set(d, row.inverse_sum),
               center = hn::Set(d, mean), by = hn::Set(d, scale);
  for_vectors(count, [=](const auto& at, Index i) HWY_ATTR {
    const Vector p = hn::Mul(exp_of(hn::Sub(at.load(s + i), shift)), share);
    const Vector gradient = hn::Mul(hn::Mul(p, hn::Sub(at.load(dp + i), center)), by);
    at.store(p, s + i);
    at.store(gradient, dp + i);
  });
}

}  // namespace

const SoftmaxLoops* softmax_here() {
  static constexpr SoftmaxLoops loops{.exp_sum = exp_sum, .backward = backward};
  return &loops;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad::TAPEGRAD_SCALAR::kernels {
HWY_EXPORT(softmax_here);
const SoftmaxLoops& softmax_loops() {
  return detail::dispatched([] { return HWY_DYNAMIC_DISPATCH(softmax_here)(); });
}

namespace {

void softmax_row(const real* x, Index length, real* y) {
  const real greatest = reduce().max(x, length);
  const real factor = 1 / softmax_loops().exp_sum(x, length, greatest, y);
  elementwise().mul({y, false}, {&factor, true}, y, length);
}

void log_softmax_row(const real* x, Index length, real* y) {
  const real greatest = reduce().max(x, length);
  const real log_sum = std::log(softmax_loops().exp_sum(x, length, greatest, y));
  // Subtracts one after the other: greatest + log_sum would lose the digits of log_sum.
  elementwise().sub({x, false}, {&greatest, true}, y, length);
  elementwise().sub({y, false}, {&log_sum, true}, y, length);
}

// Calls row(x, length, y) for each row.
template <class Row>
void for_rows(Index rows, Index length, const real* x, real* y, const Row& row) {
  count_pass(rows * length, rows * length);
  if (length == 0) return;
  parallel_ranges(rows, std::max<Index>(1, elements_per_tile / length),
                  [&](Index begin, Index end) {
                    for (Index r = begin; r < end; ++r) row(x + r * length, length, y + r * length);
                  });
}

}  // namespace

void softmax(Index rows, Index length, const real* x, real* y) {
  for_rows(rows, length, x, y, softmax_row);
}

void log_softmax(Index rows, Index length, const real* x, real* y) {
  for_rows(rows, length, x, y, log_softmax_row);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
#endif
