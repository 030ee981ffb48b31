#pragma once

#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

// Decompositions of matrices, which are the last two axes of a tensor; a batch of them may have any
// leading axes. All have first and second derivatives. They throw ShapeError for fewer than two
// axes, and ArgumentError for a NaN or an infinity; both name the matrix of the batch.

/// The lower triangular L with a positive diagonal and a = L L^T. Of an `a` that is not symmetric
/// it takes the symmetric part (a + a^T) / 2, so gradients are symmetric.
///   a: (..., n, n)   returns (..., n, n)
/// Throws ShapeError for matrices that are not square, ArgumentError for one that is not positive
/// definite. Source: Murray 2016, "Differentiation of the Cholesky decomposition", eq. 10.
/// Elsewhere: `torch.linalg.cholesky`; of the symmetric part
/// Example: `cholesky(square)`
Tensor cholesky(const Tensor& a, Place = Place::here());

/// a = q r.
/// Example: `const Qr factors = qr(x); Tensor upper = factors.r`
struct Qr {
  Tensor q;  ///< (..., m, k), with orthonormal columns; k is the smaller of m and n
  Tensor r;  ///< (..., k, n), upper triangular, with a diagonal that is not negative
};
/// The reduced QR decomposition. The signs of r's diagonal make it unique where the first k columns
/// of a are independent, to the precision of the numbers. Only there it has derivatives: elsewhere
/// the sweep throws ArgumentError.
///   a: (..., m, n)
/// Source: Walter and Lehmann 2018, "Algorithmic differentiation of linear algebra functions".
/// Elsewhere: `torch.linalg.qr`; reduced; the diagonal of r is not negative
/// Example: `qr(x).r`
Qr qr(const Tensor& a, Place = Place::here());

/// a = vectors diag(values) vectors^T.
/// Example: `const auto [values, vectors] = eigh(square)`
struct Eigh {
  Tensor values;   ///< (..., n), ascending
  Tensor vectors;  ///< (..., n, n), as columns
};
/// Eigenvalues and eigenvectors of symmetric matrices. Of an `a` that is not symmetric it takes the
/// symmetric part (a + a^T) / 2. In each eigenvector, the element of greatest size (the first of
/// equals) is positive.
///   a: (..., n, n)
/// Equal eigenvalues have no derivatives of eigenvectors: gradients through `vectors` are then NaN
/// or infinite, as in PyTorch, while those through `values` alone are finite. Throws ShapeError for
/// matrices that are not square, ArgumentError if the iteration does not converge. Source: Giles
/// 2008, "Collected matrix derivative results", section 3.1.
/// Elsewhere: `torch.linalg.eigh`; ascending; of the symmetric part
/// Example: `eigh(square).values`
Eigh eigh(const Tensor& a, Place = Place::here());

/// a = u diag(s) vt.
/// Example: `const auto [u, s, vt] = svd(x)`
struct Svd {
  Tensor u;   ///< (..., m, k), with orthonormal columns; k is the smaller of m and n
  Tensor s;   ///< (..., k), descending and not negative
  Tensor vt;  ///< (..., k, n), with orthonormal rows
};
/// The reduced singular value decomposition. In each column of u, the element of greatest size (the
/// first of equals) is positive.
///   a: (..., m, n)
/// Gradients through u and vt are NaN or infinite where singular values are equal, or 0 in matrices
/// that are not square, as in PyTorch; those through `s` alone are finite.
/// Throws ArgumentError if the iteration does not converge. Source: Wan and Zhang 2019, "Automatic
/// differentiation for complex valued SVD"; Giles 2008, section 3.2.
/// Elsewhere: `torch.linalg.svd(full_matrices=False)`
/// Example: `svd(x).s`
Svd svd(const Tensor& a, Place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
