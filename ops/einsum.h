#pragma once

#include <string>
#include <vector>

#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Sums of products in Einstein's notation. Each axis of each operand has a letter. Axes with the
/// same letter share an index, and letters missing from the result are summed over.
///
///     einsum("bij,bjk->bik", {a, b})   batched matrix product
///     einsum("i,i->", {a, b})          dot product
///     einsum("ij,jk,kl", {a, b, c})    no arrow: the result has the letters that occur once, in
///                                      alphabetical order (here il)
///
///     einsum("ii->i", {a})             a letter twice in an operand: its diagonal
///     einsum("...ij,...jk->...ik", {a, b})
///                                      any number of axes, which broadcast as in NumPy
///
/// Without an arrow, the axes under the ellipsis come first; if the result has no ellipsis, they
/// are summed over. Operands are multiplied two at a time, always the pair whose product has the
/// fewest elements (the first of several), until one is left. Spaces are ignored. 0 times
/// infinity or NaN is NaN, as in matmul. As torch.einsum, except that an extent of 1 broadcasts
/// under an ellipsis alone. Throws ShapeError, naming the equation, for letters that do not fit
/// the operands, for different extents under one letter and for ellipses that do not broadcast;
/// ArgumentError for a letter repeated within the result.
/// Elsewhere: `torch.einsum`
/// Example: `einsum("ij,kj->ik", {x, y})`
Tensor einsum(const std::string& equation, const std::vector<Tensor>& operands,
              Place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
