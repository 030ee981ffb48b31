#pragma once

#include "tapegrad/core/real.h"

// OpenBLAS's LAPACK for batches: `count` row-major matrices, one after another. The matrices of a
// batch are divided among the threads of tapegrad, and each is computed by one thread of OpenBLAS,
// so that no bit depends on the number of either. The setting of OpenBLAS for the rest of the
// process is restored when no call runs any more.
//
// Functions that can fail return the first matrix for which they do, or -1.

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// a (n, n), of which the lower triangle is read, becomes L with a = L L^T and 0 above the
/// diagonal. Fails for a matrix that is not positive definite.
Index cholesky(Index count, Index n, real* a);

/// a (m, n) = q (m, n) r (n, n) for m >= n, with r's diagonal not negative.
void qr(Index count, Index m, Index n, const real* a, real* q, real* r);

/// The eigenvalues (n) in ascending order and the eigenvectors, as columns of (n, n), of symmetric
/// matrices. Fails if the iteration does not converge.
Index eigh(Index count, Index n, const real* a, real* values, real* vectors);

/// a (m, n) = u (m, k) diag(s) v (k, n), k the smaller of m and n, with s in descending order.
/// Fails if the iteration does not converge.
Index svd(Index count, Index m, Index n, const real* a, real* u, real* s, real* v);

/// x (n, k) with a x = b. Fails for a singular matrix.
Index solve(Index count, Index n, Index k, const real* a, const real* b, real* x);

struct Triangle {
  bool upper, transposed;
};
/// x (n, k), given as b, becomes the solution of a x = b or a^T x = b. Fails for a 0 on a's
/// diagonal.
Index triangular_solve(Index count, Index n, Index k, Triangle triangle, const real* a, real* x);

/// The sign of each determinant and the logarithm of its size, -infinity for 0.
void determinant(Index count, Index n, const real* a, real* sign, real* log_size);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
