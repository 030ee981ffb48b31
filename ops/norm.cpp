#include "tapegrad/ops/norm.h"

#include <algorithm>

#include "tapegrad/core/error.h"
#include "tapegrad/core/parallel.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/kernels/norm.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad {
namespace {

// Calls body(row) for every row along the last axis of a tensor of the given shape.
template <class Body>
void for_rows(const Shape& shape, const Body& body) {
  const Index length = shape[-1];
  if (length == 0) return;
  parallel_ranges(shape.size() / length, std::max<Index>(1, elements_per_tile / length),
                  [&](Index begin, Index end) {
                    for (Index row = begin; row < end; ++row) body(row);
                  });
}

}  // namespace

Tensor composite::layer_norm(const Tensor& x, NormOptions options) {
  const Tensor mu = mean(x, -1, Keep::yes);
  const Tensor scale = sqrt(mean(square(x - mu), -1, Keep::yes) + options.epsilon);
  return (x - (options.detach_mean ? detach(mu) : mu)) /
         (options.detach_scale ? detach(scale) : scale);
}

Tensor layer_norm(const Tensor& x, NormOptions options, Place place) {
  expect(x.rank() >= 1, "layer_norm: needs an axis to normalize: {}", x.shape());
  const PlaceScope caller(place);
  if (Composite::active()) return composite::layer_norm(x, options);

  const Index length = x.shape()[-1];
  Tensor y = Tensor::uninitialized(x.shape());
  Tensor inverse_scale = Tensor::uninitialized(x.shape().with(-1, 1));
  real *normalized = y.mutable_data(), *factors = inverse_scale.mutable_data();
  for_rows(x.shape(), [&](Index row) {
    factors[row] =
        kernels::norm().forward(x.data() + row * length, length, static_cast<real>(options.epsilon),
                                normalized + row * length);
  });

  const auto to_x = [x, inverse_scale, options](const Tensor& g, const Tensor& value) {
    if (recording())
      return vjp([&](const auto& in) { return composite::layer_norm(in[0], options); }, {x}, g)[0];
    const Index count = g.shape()[-1];
    Tensor dx = Tensor::uninitialized(g.shape());
    real* out = dx.mutable_data();
    for_rows(g.shape(), [&](Index row) {
      kernels::norm().backward(g.data() + row * count, value.data() + row * count, count,
                               inverse_scale.data()[row], !options.detach_mean,
                               !options.detach_scale, out + row * count);
    });
    return dx;
  };
  return record("layer_norm", y, place, edge(x, to_x));
}

}  // namespace tapegrad
