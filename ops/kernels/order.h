#pragma once

#include "tapegrad/ops/kernels/axis.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

// A task takes some of `outer`; of products, some pieces of 256 columns. `prod` cuts long columns
// into tasks.

/// y = the sums of the elements of each column up to each one, or from each one on if `backward`.
/// Adds in double precision.
void cumsum(const AlongAxis& shape, bool backward, const real* x, real* y);

/// y = the products of the elements of each column up to each one. Multiplies in double precision,
/// as do the other products.
void cumprod(const AlongAxis& shape, const real* x, real* y);
/// dx = the gradient with respect to x, where g is the gradient of these products.
void cumprod_back(const AlongAxis& shape, const real* x, const real* g, real* dx);
/// y (outer, inner) = the products of all elements of each column.
void prod(const AlongAxis& shape, const real* x, real* y);
/// dx = the gradient with respect to x: g (outer, inner) times the product of the column's other
/// elements.
void prod_back(const AlongAxis& shape, const real* x, const real* g, real* dx);

/// positions (outer, count, inner) = where in its column each of the `count` least elements is, the
/// least first; of the greatest if `descending`. NaN counts as greatest; equal elements keep their
/// order.
void sort(const AlongAxis& shape, Index count, bool descending, const real* x, Index* positions);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
