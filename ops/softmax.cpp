#include "tapegrad/ops/softmax.h"

#include <algorithm>
#include <cmath>

#include "tapegrad/core/error.h"
#include "tapegrad/core/parallel.h"
#include "tapegrad/core/profile.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/kernels/elementwise.h"
#include "tapegrad/ops/kernels/reduce.h"
#include "tapegrad/ops/kernels/softmax.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// Calls row(x, length, y) for each row along the last axis.
template <class Row>
Tensor by_rows(const Tensor& x, const Row& row) {
  count_pass(x.size(), x.size());
  Tensor y = Tensor::uninitialized(x.shape());
  real* out = y.mutable_data();
  const Index length = x.shape()[-1];
  if (x.size() == 0) return y;
  parallel_ranges(x.size() / length, std::max<Index>(1, elements_per_tile / length),
                  [&](Index begin, Index end) {
                    for (Index r = begin; r < end; ++r)
                      row(x.data() + r * length, length, out + r * length);
                  });
  return y;
}

void softmax_row(const real* x, Index length, real* y) {
  const real greatest = kernels::reduce().max(x, length);
  const real factor = 1 / kernels::softmax_loops().exp_sum(x, length, greatest, y);
  kernels::elementwise().mul({y, false}, {&factor, true}, y, length);
}

void log_softmax_row(const real* x, Index length, real* y) {
  const real greatest = kernels::reduce().max(x, length);
  const real log_sum = std::log(kernels::softmax_loops().exp_sum(x, length, greatest, y));
  // One after the other: greatest + log_sum would lose the digits of log_sum.
  kernels::elementwise().sub({x, false}, {&greatest, true}, y, length);
  kernels::elementwise().sub({y, false}, {&log_sum, true}, y, length);
}

// f along the last axis, applied along any other by exchanging the two.
template <class F>
Tensor along(const Tensor& x, int axis, const F& f) {
  if (x.shape().resolve(axis) == x.rank() - 1) return f(x);
  return transpose(f(transpose(x, axis, -1)), axis, -1);
}

}  // namespace

Tensor softmax(const Tensor& x, int axis, Place place) {
  expect_defined("softmax", x);
  const PlaceScope caller(place);
  if (Composite::active()) return composite::softmax(x, axis);
  return along(x, axis, [](const Tensor& rows) {
    return record("softmax", by_rows(rows, softmax_row), {},
                  edge(rows, [](const Tensor& g, const Tensor& y) {
                    return y * (g - sum(g * y, -1, Keep::yes));
                  }));
  });
}

Tensor log_softmax(const Tensor& x, int axis, Place place) {
  expect_defined("log_softmax", x);
  const PlaceScope caller(place);
  if (Composite::active()) return composite::log_softmax(x, axis);
  return along(x, axis, [](const Tensor& rows) {
    return record("log_softmax", by_rows(rows, log_softmax_row), {},
                  edge(rows, [](const Tensor& g, const Tensor& y) {
                    return g - exp(y) * sum(g, -1, Keep::yes);
                  }));
  });
}

Tensor composite::softmax(const Tensor& x, int axis) {
  const Tensor e = exp(x - detach(max(x, axis, Keep::yes)));
  return e / sum(e, axis, Keep::yes);
}

Tensor composite::log_softmax(const Tensor& x, int axis) {
  const Tensor shifted = x - detach(max(x, axis, Keep::yes));
  return shifted - log(sum(exp(shifted), axis, Keep::yes));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
