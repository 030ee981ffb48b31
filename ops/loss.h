#pragma once

#include <optional>

#include "tapegrad/core/indices.h"
#include "tapegrad/core/tape.h"

namespace tapegrad {

struct CrossEntropyOptions {
  double label_smoothing = 0;              ///< share of the target spread evenly over the classes
  std::optional<Index> ignore_index = {};  ///< rows with this label do not count
};

/// The mean over rows of -log softmax(logits)[label], in nats.
///   logits: (..., C)   labels: (...), in [0, C) or the ignored one   returns ()
/// With label smoothing e: (1 - e) nll + e/C sum_c -log p_c. NaN when every row is ignored, as in
/// PyTorch. Throws ShapeError for shapes and labels that do not fit.
Tensor cross_entropy(const Tensor& logits, const Indices& labels, CrossEntropyOptions options = {},
                     Place = Place::here());
/// The same against a distribution for each row. target: logits.shape.
Tensor cross_entropy(const Tensor& logits, const Tensor& target, Place = Place::here());
/// The mean of softplus(x) - x t, the cross entropy of Bernoulli logits x and targets t in [0, 1].
/// Shapes must be equal; throws ShapeError otherwise (so do mse and l1).
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        Place = Place::here());
/// The mean of (x - target)^2.
Tensor mse(const Tensor& x, const Tensor& target, Place = Place::here());
/// The mean of |x - target|.
Tensor l1(const Tensor& x, const Tensor& target, Place = Place::here());

}  // namespace tapegrad
