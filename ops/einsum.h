#pragma once

#include <string>
#include <vector>

#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Sums of products of elements, in Einstein's notation: one letter for each axis of each operand;
/// axes with the same letter run together, and letters that the result does not have are summed
/// over.
///
///     einsum("bij,bjk->bik", {a, b})   products of matrices
///     einsum("i,i->", {a, b})          a scalar product
///     einsum("ij,jk,kl", {a, b, c})    no arrow: the result has the letters that occur once, in
///                                      alphabetical order (here il)
///
/// Operands of any number are multiplied from the left to the right, two at a time. Spaces do not
/// count. Throws ShapeError, naming the equation, for letters that do not fit the operands, extents
/// that differ under one letter (an extent of 1 does not stretch); ArgumentError for a letter that
/// is repeated within an operand (diagonals are not supported) or within the result, and for an
/// ellipsis.
Tensor einsum(const std::string& equation, const std::vector<Tensor>& operands,
              Place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
