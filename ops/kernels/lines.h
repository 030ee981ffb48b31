#pragma once

// Normalization of whole matrices, by the loops of norm.h. A task takes neighbouring lines; how
// many follows from the shape, and every line is summed by one task.

#include "tapegrad/ops/kernels/norm.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// The elements that are normalized together: the rows of a matrix, or its columns.
enum class Lines { rows, columns };

struct Matrix {
  Index rows, columns;

  Index size() const { return rows * columns; }
  Index count(Lines lines) const { return lines == Lines::rows ? rows : columns; }
};

/// y = normalized x. inverses and slopes: what RowScale holds, for each line.
void normalize(const RowNorm& norm, Lines lines, Matrix shape, const real* x, real* y,
               real* inverses, real* slopes);
/// dx, given the gradient g of y.
void normalize_back(const RowNorm& norm, Lines lines, Matrix shape, const real* g, const real* y,
                    const real* inverses, const real* slopes, real* dx);

/// Factor and term of each column; no bias: null.
struct Affine {
  const real *gain, *bias;
};
/// Where their gradients go; null: not wanted.
struct AffineGradients {
  real *gain, *bias;
};

/// z = y gain + bias, row by row.
void affine(Affine a, Matrix shape, const real* y, real* z);
void affine_back(Affine a, Matrix shape, const real* y, const real* g, real* dy, AffineGradients d);

/// z = normalized x gain + bias, row by row, in one pass.
void affine_norm(const RowNorm& norm, Affine a, Matrix shape, const real* x, real* z);
/// Normalizes the rows again, so that nothing need be kept but x.
void affine_norm_back(const RowNorm& norm, Affine a, Matrix shape, const real* x, const real* g,
                      real* dx, AffineGradients d);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
