#include "tapegrad/ops/softmax.h"

#include "tapegrad/core/error.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/kernels/softmax.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// A kernel over the rows along the last axis.
using RowKernel = void (*)(Index rows, Index length, const real* x, real* y);

Tensor by_rows(const Tensor& x, RowKernel kernel) {
  Tensor y = Tensor::uninitialized(x.shape());
  kernel(x.shape().count(0, x.rank() - 1), x.shape()[-1], x.data(), y.mutable_data());
  return y;
}

// Applies f, which works along the last axis, along any axis by swapping the two.
template <class F>
Tensor along(const Tensor& x, int axis, const F& f) {
  if (x.shape().resolve(axis) == x.rank() - 1) return f(x);
  return transpose(f(transpose(x, axis, -1)), axis, -1);
}

// x without its greatest element along an axis, so that e^x does not overflow.
Tensor shifted(const Tensor& x, int axis) {
  return x.shape()[axis] == 0 ? x : x - detach(max(x, axis, Keep::yes));
}

}  // namespace

Tensor softmax(const Tensor& x, int axis, Place place) {
  const OperationScope scope("softmax", place, x);
  if (Composite::active()) return composite::softmax(x, axis);
  return along(x, axis, [](const Tensor& rows) {
    return record("softmax", by_rows(rows, kernels::softmax), {},
                  edge(rows, [](const Tensor& g, const Tensor& y) {
                    return y * (g - sum(g * y, -1, Keep::yes));
                  }));
  });
}

Tensor log_softmax(const Tensor& x, int axis, Place place) {
  const OperationScope scope("log_softmax", place, x);
  if (Composite::active()) return composite::log_softmax(x, axis);
  return along(x, axis, [](const Tensor& rows) {
    return record("log_softmax", by_rows(rows, kernels::log_softmax), {},
                  edge(rows, [](const Tensor& g, const Tensor& y) {
                    return g - exp(y) * sum(g, -1, Keep::yes);
                  }));
  });
}

Tensor composite::softmax(const Tensor& x, int axis) {
  const Tensor e = exp(shifted(x, axis));
  return e / sum(e, axis, Keep::yes);
}

Tensor composite::log_softmax(const Tensor& x, int axis) {
  const Tensor logits = shifted(x, axis);
  return logits - log(sum(exp(logits), axis, Keep::yes));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
