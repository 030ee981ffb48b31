#pragma once

// Normalization of whole matrices, with the loops of norm.h. A task takes neighbouring lines, as
// many as the shape determines, and sums each line alone.

#include "tapegrad/ops/kernels/norm.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// The elements normalized together: a row or a column of a matrix.
enum class Lines { rows, columns };

struct Matrix {
  Index rows, columns;

  Index size() const { return rows * columns; }
  Index count(Lines lines) const { return lines == Lines::rows ? rows : columns; }
};

/// y = normalized x. inverses and slopes: two numbers of each line for the backward pass (norm.h).
void normalize(const RowNorm& norm, Lines lines, Matrix shape, const real* x, real* y,
               real* inverses, real* slopes);
/// dx, given the gradient g of y.
void normalize_back(const RowNorm& norm, Lines lines, Matrix shape, const real* g, const real* y,
                    const real* inverses, const real* slopes, real* dx);

/// Gain and bias of each column; a null bias means none.
struct Affine {
  const real *gain, *bias;
};
/// Where to write their gradients; null if not wanted.
struct AffineGradients {
  real *gain, *bias;
};

/// z = y gain + bias, row by row.
void affine(Affine a, Matrix shape, const real* y, real* z);
void affine_back(Affine a, Matrix shape, const real* y, const real* g, real* dy, AffineGradients d);

/// z = normalized x gain + bias, row by row, in one pass.
void affine_norm(const RowNorm& norm, Affine a, Matrix shape, const real* x, real* z);
/// Normalizes the rows again, so only x need be kept.
void affine_norm_back(const RowNorm& norm, Affine a, Matrix shape, const real* x, const real* g,
                      real* dx, AffineGradients d);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
