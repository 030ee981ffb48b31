#pragma once

#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

// How well guesses agree with what is right. Both are lists of numbers of one length (N). All throw
// ShapeError for other shapes and for lists that are empty.

/// Pearson's correlation: 1 where the guesses are a rising linear function of what is right, -1
/// where they are a falling one. NaN if one of the lists has a single value throughout.
/// Example: `pearson(Tensor({3}, {1, 2, 4}), Tensor({3}, {1, 2, 3}))`
double pearson(const Tensor& guesses, const Tensor& right);
/// Spearman's correlation: Pearson's of the ranks. Equal values share the mean of their ranks. NaN
/// where `pearson` is, and if one of the values is NaN.
/// Example: `spearman(Tensor({3}, {1, 2, 4}), Tensor({3}, {1, 2, 3}))`
double spearman(const Tensor& guesses, const Tensor& right);
/// The mean of the squares of the differences.
/// Example: `mean_squared_error(Tensor({3}, {1, 2, 4}), Tensor({3}, {1, 2, 3}))`
double mean_squared_error(const Tensor& guesses, const Tensor& right);

}  // namespace tapegrad::TAPEGRAD_SCALAR
