#pragma once

// What losses share.

#include "tapegrad/core/error.h"
#include "tapegrad/nn/functions/loss.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Throws ShapeError, naming `operation`, unless both are defined and of one shape.
inline void expect_same(const char* operation, const Tensor& x, const Tensor& target) {
  expect_defined(operation, x, target);
  expect(x.shape() == target.shape(), "{}: shapes differ: {} and {}", operation, x.shape(),
         target.shape());
}

/// The losses, combined.
inline Tensor reduced(const Tensor& losses, Reduction reduction) {
  if (reduction == Reduction::none) return losses;
  return reduction == Reduction::sum ? sum(losses) : mean(losses);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
