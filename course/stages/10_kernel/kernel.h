#pragma once

// Stage 10: a kernel for layer normalization, and second derivatives. Fill in what throws; add what
// you need.

#include <functional>
#include <stdexcept>

#include "layer_norm.h"

/// Computes layer_norm(x, epsilon) as one node: its value and its gradient are loops over numbers.
/// The gradient is one node as well. Differentiating it gives the right second derivatives or
/// throws an exception, and never gives a silent 0.
///   x: (N, H)    returns: (N, H)
inline Variable layer_norm_kernel(const Variable& x, double epsilon = 1e-5) {
  (void)x, (void)epsilon;
  throw std::logic_error("layer_norm_kernel is not written yet");
}

/// The matrix of the second derivatives of f at a point, times v, by two sweeps:
///   element i is the sum over j of v_j d2f / (dx_i dx_j)
///   f: has one element    at: any shape    v: the shape of at    returns: that shape
/// Throws std::invalid_argument for a v of another shape.
inline Tensor hessian_times(const std::function<Variable(const Variable& x)>& f, const Tensor& at,
                            const Tensor& v) {
  (void)f, (void)at, (void)v;
  throw std::logic_error("hessian_times is not written yet");
}
