#pragma once

#include "tapegrad/core/indices.h"
#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

// What is not looked up gets gradient 0, whatever arrives, and does not affect the result, even if
// it is NaN.

/// Looks up rows of a table.
///   table: (V, ...)   ids: any shape, values in [0, V)   returns ids.shape + table.shape[1:]
/// Throws ShapeError for an id out of range.
/// Elsewhere: `F.embedding`; rows of a table
/// Example: `embedding(random.normal({10, 6}), ids)`
Tensor embedding(const Tensor& table, const Indices& ids, Place = Place::here());
/// result[..., i, ...] = x[..., positions[..., i, ...], ...] along `axis`; as torch.gather, with
/// positions of x's shape except along `axis`. Throws ShapeError for shapes or values that do not
/// fit.
/// Elsewhere: `torch.gather`, `take_along_axis`
/// Example: `gather(x, 1, Indices({4, 2}, {0, 1, 0, 2, 5, 3, 4, 4}))`
Tensor gather(const Tensor& x, int axis, const Indices& positions, Place = Place::here());
/// Zeros of `shape`, plus each element of x at its position along `axis`: the transpose of
/// `gather`.
/// Elsewhere: `scatter_add`, `segment_sum`
/// Example: `scatter_add(ones({4, 1}), 1, Indices({4, 1}, {0, 2, 1, 0}), {4, 3})`
Tensor scatter_add(const Tensor& x, int axis, const Indices& positions, const Shape& shape,
                   Place = Place::here());
/// The slices of x at these positions along an axis, which may repeat.
///   positions: (count), in [0, x.shape[axis])   returns x's shape, with `count` along the axis
/// Throws ShapeError for other positions.
/// Elsewhere: `torch.index_select`, `jnp.take`
/// Example: `index_select(x, 0, Indices({3}, {3, 0, 0}))`
Tensor index_select(const Tensor& x, int axis, const Indices& positions, Place = Place::here());
/// One element of each row. x: (..., C)  labels: (...), in [0, C)  returns (...).
/// Elsewhere: `x[range(n), labels]`; one element of each row
/// Example: `pick(log_softmax(logits), labels)`
Tensor pick(const Tensor& x, const Indices& labels, Place = Place::here());
/// 1 at the label, 0 elsewhere: labels.shape + (classes). Throws ShapeError for labels out of
/// range.
/// Elsewhere: `F.one_hot`
/// Example: `one_hot(labels, 3)`
Tensor one_hot(const Indices& labels, Index classes, Place = Place::here());

/// The elements of x at flat row-major positions: result[i] = x[positions[i]], of positions.shape.
/// Maxima, pooling and gathering use it.
/// Elsewhere: `np.take(x, flat)`; flat positions
/// Example: `take(x, Indices({2}, {0, 23}))`
Tensor take(const Tensor& x, const Indices& positions, Place = Place::here());
/// Zeros of `shape`, plus each element of x at its flat position: the transpose of `take`.
/// Example: `put(ones({2}), Indices({2}, {0, 23}), {4, 6})`
Tensor put(const Tensor& x, const Indices& positions, const Shape& shape, Place = Place::here());

/// The diagonal of each matrix, `offset` columns to the right of the main one.
///   x: (..., m, n)   returns (..., length), which may be 0
/// Throws ShapeError for fewer than two axes.
/// Elsewhere: `torch.diagonal`, `np.diagonal`; of the last two axes
/// Example: `sum(diagonal(square))`
Tensor diagonal(const Tensor& x, Index offset = 0, Place = Place::here());
/// Matrices with the rows of x on that diagonal and 0 elsewhere: torch.diag_embed.
///   x: (..., n)   returns (..., n + |offset|, n + |offset|)
/// Throws ShapeError for a scalar.
/// Elsewhere: `torch.diag_embed`, `np.diag`; each row becomes a matrix
/// Example: `diag(Tensor({3}, {1, 2, 3}))`
Tensor diag(const Tensor& x, Index offset = 0, Place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
