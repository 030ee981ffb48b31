#include "tapegrad/nn/optimizers/centering.h"

#include <algorithm>

#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/machine/profile.h"
#include "tapegrad/ops/kernels/axis.h"
#include "tapegrad/ops/kernels/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// The elements of each mean lie along the axis `length`; no outer elements if there is no mean.
kernels::AlongAxis means_of(const Shape& shape, Centering over) {
  const bool outputs = over == Centering::outputs;
  if (over == Centering::none || (is_vector(shape) && !outputs)) return {0, 1, 1};
  if (is_vector(shape)) return kernels::along(shape, 0, shape.rank());
  const bool first_axis = (shape.rank() == 2) != outputs;
  return first_axis ? kernels::along(shape, 0) : kernels::along(shape, 1, shape.rank());
}

void center_rows(const kernels::AlongAxis& means, real* values) {
  const Index grain = std::max<Index>(1, elements_per_tile / means.length);
  parallel_ranges(means.outer, grain, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      real* row = values + i * means.length;
      const real mean = kernels::reduce().sum(row, means.length) / static_cast<real>(means.length);
      for (Index j = 0; j < means.length; ++j) row[j] -= mean;
    }
  });
}

void center_columns(const kernels::AlongAxis& means, real* values) {
  constexpr Index block = 256;
  parallel_ranges(means.inner, block, [&](Index begin, Index end) {
    real mean[block] = {};
    for (Index i = 0; i < means.length; ++i)
      kernels::reduce().accumulate(values + i * means.inner + begin, mean, end - begin);
    for (real& each : mean) each /= static_cast<real>(means.length);
    for (Index i = 0; i < means.length; ++i)
      for (Index j = begin; j < end; ++j) values[i * means.inner + j] -= mean[j - begin];
  });
}

// It allocates nothing, so that a step of an optimizer cannot fail in it.
void center(real* values, const Shape& shape, Centering over) {
  const kernels::AlongAxis means = means_of(shape, over);
  if (means.outer == 0 || means.length <= 1) return;
  count_pass(2 * shape.size(), shape.size());
  if (means.inner == 1)
    center_rows(means, values);
  else
    center_columns(means, values);
}

}  // namespace

bool is_vector(const Shape& shape) {
  int longer = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) longer += shape[axis] > 1 ? 1 : 0;
  return longer <= 1;
}

Tensor centered(const Tensor& x, Centering over) {
  Tensor copy(x.shape(), x.values());
  center(copy.mutable_data(), copy.shape(), over);
  return copy;
}

void center(Parameter& parameter, Centering over) {
  center(parameter.mutable_data(), parameter.shape(), over);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
