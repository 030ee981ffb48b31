#pragma once

#include <optional>

#include "tapegrad/core/indices.h"
#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct CrossEntropyOptions {
  double label_smoothing = 0;              ///< share of the target spread evenly over all classes
  std::optional<Index> ignore_index = {};  ///< rows with this label do not count
};

/// The mean over rows of -log softmax(logits)[label], in nats.
///   logits: (..., C)   labels: (...), in [0, C) or the ignored one   returns ()
/// With label smoothing e: (1 - e) nll + e/C sum_c -log p_c. NaN when every row is ignored, as in
/// PyTorch. Throws ShapeError for shapes and labels that do not fit, ArgumentError for smoothing
/// outside [0, 1].
/// Example: `cross_entropy(logits, labels, {.label_smoothing = 0.1})`
Tensor cross_entropy(const Tensor& logits, const Indices& labels, CrossEntropyOptions options = {},
                     Place = Place::here());
/// The same for a target distribution in each row. target: logits.shape.
Tensor cross_entropy(const Tensor& logits, const Tensor& target, Place = Place::here());
/// The mean of softplus(x) - x t, the cross entropy of Bernoulli logits x and targets t in [0, 1].
/// Throws ShapeError unless the shapes are equal, as do mse and l1.
/// Example: `binary_cross_entropy_with_logits(x, greater(y, 0))`
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        Place = Place::here());
/// The mean of (x - target)^2.
/// Example: `mse(x, y)`
Tensor mse(const Tensor& x, const Tensor& target, Place = Place::here());
/// The mean of |x - target|.
/// Example: `l1(x, y)`
Tensor l1(const Tensor& x, const Tensor& target, Place = Place::here());
/// The mean of e^2 / 2 where |e| <= delta and delta (|e| - delta / 2) elsewhere, with e = x -
/// target (Huber 1964), like torch's huber_loss. Throws ShapeError for shapes that differ,
/// ArgumentError unless delta > 0.
/// Example: `huber(x, y, 0.5)`
Tensor huber(const Tensor& x, const Tensor& target, double delta = 1, Place = Place::here());
/// The mean of max(0, 1 - x t) for scores x and targets t, each -1 or 1; where x t = 1 the gradient
/// is 0. Throws ShapeError for shapes that differ.
/// Example: `hinge(x, sign(y))`
Tensor hinge(const Tensor& x, const Tensor& target, Place = Place::here());
/// The Kullback-Leibler divergence KL(p || q) = sum_c p_c (log p_c - log q_c) in nats, as a mean
/// over rows. With two axes it is torch's kl_div(log_q, p, reduction="batchmean").
///   log_q: (..., C), such as from log_softmax   p: same shape, probabilities   returns ()
/// Where p = 0, value and gradient are exactly 0, even if log q = -inf. Throws ShapeError for a
/// scalar and for shapes that differ.
/// Example: `kl_divergence(log_softmax(x), softmax(y))`
Tensor kl_divergence(const Tensor& log_q, const Tensor& p, Place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
