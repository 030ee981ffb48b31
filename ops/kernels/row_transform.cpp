#include "tapegrad/ops/kernels/row_transform.h"

#include <algorithm>

#include "tapegrad/ops/kernels/elementwise.h"
#include "tapegrad/ops/kernels/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {
namespace {

RowNorm norm_of(const RowTransform& transform, Index length) {
  RowNorm norm = transform.norm;
  norm.divisor = static_cast<real>(length - transform.lost);
  return norm;
}

}  // namespace

void transform_forward(const RowTransform& transform, real* row, Index count, real* normalized,
                       real* scales) {
  if (transform.normalized) {
    Index at = 0;
    for (const Index length : transform.segments) {
      const RowScale scale =
          norm().forward(norm_of(transform, length), row + at, length, normalized + at);
      *scales++ = scale.inverse;
      *scales++ = scale.slope;
      at += length;
    }
  }
  const real* from = transform.normalized ? normalized : row;
  if (transform.gain)
    norm().affine(from, transform.gain, transform.bias, count, row);
  else if (transform.bias)
    elementwise().add({from, false}, {transform.bias, false}, row, count);
  else if (from != row)
    std::copy_n(from, count, row);
}

void transform_backward(const RowTransform& transform, real* g, Index count, const real* normalized,
                        const real* scales, TransformGradients total) {
  if (transform.gain)
    norm().affine_back(g, normalized, transform.gain, count, g, total.gain, total.bias);
  else if (total.bias)
    reduce().accumulate(g, total.bias, count);
  if (!transform.normalized) return;
  Index at = 0;
  for (const Index length : transform.segments) {
    norm().backward(norm_of(transform, length), {scales[0], scales[1]}, g + at, normalized + at,
                    length, g + at);
    scales += 2;
    at += length;
  }
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
