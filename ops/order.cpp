#include "tapegrad/ops/order.h"

#include "tapegrad/core/error.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/internal/fused.h"
#include "tapegrad/ops/kernels/order.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// The transpose of sums in one direction is sums in the other.
Tensor cumulated(const Tensor& x, int axis, bool backward, Place place = Place::here()) {
  Tensor y = Tensor::uninitialized(x.shape());
  kernels::cumsum(kernels::along(x.shape(), axis), backward, x.data(), y.mutable_data());
  const char* name = backward ? "cumsum_backward" : "cumsum";
  return record(name, y, place, edge(x, [axis, backward](const Tensor& g) {
                  return cumulated(g, axis, !backward);
                }));
}

struct Cumprod {
  static constexpr const char* name = "cumprod";

  int axis;

  Tensor definition(const Operands<1>& in) const {
    const Index extent = in[0].shape()[axis];
    Tensor y = in[0];
    // Each element is the product of the `reach` last ones (Hillis and Steele 1986).
    for (Index reach = 1; reach < extent; reach *= 2)
      y = concat({slice(y, axis, 0, reach),
                  slice(y, axis, reach, extent) * slice(y, axis, 0, extent - reach)},
                 axis);
    return y;
  }
  Tensor value(const Operands<1>& in) const {
    Tensor y = Tensor::uninitialized(in[0].shape());
    kernels::cumprod(kernels::along(in[0].shape(), axis), in[0].data(), y.mutable_data());
    return y;
  }
  Gradients<1> gradients(const Operands<1>& in, const Tensor& g, const Wanted<1>&) const {
    Tensor dx = Tensor::uninitialized(g.shape());
    kernels::cumprod_back(kernels::along(g.shape(), axis), in[0].data(), g.data(),
                          dx.mutable_data());
    return {dx};
  }
};

// The positions of the first `count` elements of each column along the axis.
Indices ordered_positions(const Tensor& x, int axis, Index count, bool descending) {
  Indices positions = Indices::uninitialized(x.shape().with(axis, count));
  kernels::sort(kernels::along(x.shape(), axis), count, descending, x.data(),
                positions.mutable_data());
  return positions;
}

}  // namespace

Tensor cumsum(const Tensor& x, int axis, Place place) {
  const OperationScope scope("cumsum", place, x);
  return cumulated(x, x.shape().resolve(axis), false, place);
}

Tensor cumprod(const Tensor& x, int axis, Place place) {
  const OperationScope scope("cumprod", place, x);
  return fused(Cumprod{x.shape().resolve(axis)}, Operands<1>{x}, place);
}

Sorted sort(const Tensor& x, int axis, bool descending, Place place) {
  const OperationScope scope("sort", place, x);
  axis = x.shape().resolve(axis);
  const Indices positions = ordered_positions(x, axis, x.shape()[axis], descending);
  return {gather(x, axis, positions, place), positions};
}

Indices argsort(const Tensor& x, int axis, bool descending, Place place) {
  const OperationScope scope("argsort", place, x);
  axis = x.shape().resolve(axis);
  return ordered_positions(x, axis, x.shape()[axis], descending);
}

Sorted top_k(const Tensor& x, Index k, int axis, Place place) {
  const OperationScope scope("top_k", place, x);
  axis = x.shape().resolve(axis);
  expect(k >= 0 && k <= x.shape()[axis], "top_k: axis {} of {} has no {} elements", axis, x.shape(),
         k);
  const Indices positions = ordered_positions(x, axis, k, true);
  return {gather(x, axis, positions, place), positions};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
