#include "tapegrad/ops/order.h"

#include "tapegrad/core/error.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
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
  axis = x.shape().resolve(axis);
  const Index extent = x.shape()[axis];
  Tensor y = x;
  // Each element is the product of the `reach` last ones (Hillis and Steele 1986).
  for (Index reach = 1; reach < extent; reach *= 2)
    y = concat({slice(y, axis, 0, reach),
                slice(y, axis, reach, extent) * slice(y, axis, 0, extent - reach)},
               axis);
  return y;
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
