#include "tapegrad/ops/kernels/row_transform.h"

#include <algorithm>

#include "tapegrad/ops/kernels/elementwise.h"
#include "tapegrad/ops/kernels/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

void transform_forward(const RowTransform& transform, real* row, Index count, real* normalized,
                       real* scales) {
  Index at = 0;
  for (const Segment& segment : transform.segments) {
    norm().forward(segment.norm, row + at, 1, segment.length, normalized + at, scales, scales + 1);
    scales += 2;
    at += segment.length;
  }
  const real* from = transform.normalized() ? normalized : row;
  if (transform.gain)
    norm().affine(from, transform.gain, transform.bias, 1, count, row);
  else if (transform.bias)
    elementwise().add({from, false}, {transform.bias, false}, row, count);
  else if (from != row)
    std::copy_n(from, count, row);
}

void transform_backward(const RowTransform& transform, real* g, Index count, const real* normalized,
                        const real* scales, TransformGradients total) {
  if (transform.gain)
    norm().affine_back(g, normalized, transform.gain, 1, count, g, total.gain, total.bias);
  else if (total.bias)
    reduce().accumulate(g, total.bias, count);
  Index at = 0;
  for (const Segment& segment : transform.segments) {
    norm().backward(segment.norm, scales, scales + 1, g + at, normalized + at, 1, segment.length,
                    g + at);
    scales += 2;
    at += segment.length;
  }
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
