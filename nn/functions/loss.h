#pragma once

#include <optional>

#include "tapegrad/core/indices.h"
#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

// An element of weight 0 costs 0, even if it is impossible: a class of weight 0, a target of 0 in a
// distribution, and each side of a binary choice that the target excludes. A NaN that counts makes
// the loss NaN, and its gradient is not 0.

/// How a loss combines the losses of its elements or rows: not at all, as their sum or as their
/// mean.
/// Example: `mse(x, y, {.reduction = Reduction::sum})`
enum class Reduction { none, sum, mean };

struct LossOptions {
  Reduction reduction = Reduction::mean;
};

struct CrossEntropyOptions {
  double label_smoothing = 0;              ///< share of the target spread evenly over all classes
  std::optional<Index> ignore_index = {};  ///< rows with this label do not count
  Tensor weight = {};                      ///< (C): what each class counts; undefined: 1
  Reduction reduction = Reduction::mean;
};

/// The mean over rows of -log softmax(logits)[label], in nats.
///   logits: (..., C)   labels: (...), in [0, C) or the ignored one   returns (), or (...) if
///   nothing is reduced
/// With label smoothing e: (1 - e) nll + e/C sum_c -log p_c. The weight w of a class multiplies its
/// -log p_c, and the mean divides by the sum of the weights of the labels, as in PyTorch. An
/// ignored row has loss 0. Throws ShapeError for shapes and labels that do not fit, ArgumentError
/// for smoothing outside [0, 1], and for a mean of rows that are all ignored (NaN in PyTorch).
/// Elsewhere: `F.cross_entropy`, `nn.CrossEntropyLoss`; the mean over rows
/// Example: `cross_entropy(logits, labels, {.label_smoothing = 0.1})`
Tensor cross_entropy(const Tensor& logits, const Indices& labels,
                     const CrossEntropyOptions& options = {}, Place = Place::here());
/// The cross entropy for a target distribution in each row. target: logits.shape. On a tape with
/// `check_finite`, throws ArgumentError for a row that is none.
Tensor cross_entropy(const Tensor& logits, const Tensor& target, LossOptions options = {},
                     Place = Place::here());
/// The cross entropy of log-probabilities, such as from log_softmax: what `cross_entropy` finds for
/// logits. torch's nll_loss.
///   log_p: (..., C)   labels: (...), in [0, C) or the ignored one   returns () or (...)
/// Throws as `cross_entropy` does.
/// Elsewhere: `F.nll_loss`
/// Example: `nll(log_softmax(logits), labels)`
Tensor nll(const Tensor& log_p, const Indices& labels, const CrossEntropyOptions& options = {},
           Place = Place::here());

struct BinaryCrossEntropyOptions {
  Tensor positive_weight = {};  ///< what t = 1 counts; broadcasts to the logits; undefined: 1
  Reduction reduction = Reduction::mean;
};
/// The mean of softplus(x) - x t, the cross entropy of Bernoulli logits x and targets t in [0, 1].
/// Throws ShapeError unless the shapes are equal, as do mse and l1, and for weights that do not
/// broadcast to them; on a tape with `check_finite`, ArgumentError for targets outside [0, 1].
/// Elsewhere: `BCEWithLogitsLoss`; `pos_weight` is `.positive_weight`
/// Example: `binary_cross_entropy_with_logits(x, greater(y, 0), {.positive_weight = 2.0})`
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        const BinaryCrossEntropyOptions& options = {},
                                        Place = Place::here());
/// The mean of (x - target)^2.
/// Elsewhere: `F.mse_loss`
/// Example: `mse(x, y)`
Tensor mse(const Tensor& x, const Tensor& target, LossOptions options = {}, Place = Place::here());
/// The mean of |x - target|.
/// Elsewhere: `F.l1_loss`, MAE
/// Example: `l1(x, y, {.reduction = Reduction::sum})`
Tensor l1(const Tensor& x, const Tensor& target, LossOptions options = {}, Place = Place::here());

struct HuberOptions {
  double delta = 1;  ///< the error from which the loss grows linearly
  Reduction reduction = Reduction::mean;
};
/// The mean of e^2 / 2 where |e| <= delta and delta (|e| - delta / 2) elsewhere, with e = x -
/// target (Huber 1964), like torch's huber_loss. Throws ShapeError for shapes that differ,
/// ArgumentError unless delta > 0.
/// Elsewhere: `F.huber_loss`, smooth L1; the two agree for delta = 1
/// Example: `huber(x, y, {.delta = 0.5})`
Tensor huber(const Tensor& x, const Tensor& target, HuberOptions options = {},
             Place = Place::here());
/// The mean of max(0, 1 - x t) for scores x and targets t, each -1 or 1; where x t = 1 the gradient
/// is 0. Throws ShapeError for shapes that differ.
/// Elsewhere: hinge loss
/// Example: `hinge(x, sign(y))`
Tensor hinge(const Tensor& x, const Tensor& target, LossOptions options = {},
             Place = Place::here());
/// The Kullback-Leibler divergence KL(p || q) = sum_c p_c (log p_c - log q_c) in nats, as a mean
/// over rows. With two axes it is torch's kl_div(log_q, p, reduction="batchmean").
///   log_q: (..., C), such as from log_softmax   p: same shape, probabilities   returns () or (...)
/// Where p = 0, value and gradient are exactly 0, even if log q = -inf. Throws ShapeError for a
/// scalar and for shapes that differ; on a tape with `check_finite`, ArgumentError for a row of p
/// that is no distribution, such as one of logarithms.
/// Elsewhere: `F.kl_div(reduction="batchmean")`
/// Example: `kl_divergence(log_softmax(x), softmax(y))`
Tensor kl_divergence(const Tensor& log_q, const Tensor& p, LossOptions options = {},
                     Place = Place::here());

struct GaussianNllOptions {
  bool full = false;      ///< adds the constant log(2 pi) / 2
  double epsilon = 1e-6;  ///< least variance; the gradient passes this bound unchanged
  Reduction reduction = Reduction::mean;
};
/// The mean of (log v + (x - target)^2 / v) / 2, the negative log-likelihood of targets under
/// normal distributions of mean x and variance v (Nix and Weigend 1994). torch's gaussian_nll_loss.
///   x, target: any shape   variance: the same, or 1 along the last axis   returns () or x's shape
/// Throws ShapeError for other shapes, ArgumentError for a negative variance and unless
/// epsilon > 0.
/// Elsewhere: `F.gaussian_nll_loss`
/// Example: `gaussian_nll(x, y, exp(x), {.full = true})`
Tensor gaussian_nll(const Tensor& x, const Tensor& target, const Tensor& variance,
                    GaussianNllOptions options = {}, Place = Place::here());

/// The divergence KL(N(mean, deviation^2) || N(0, 1)) of independent normal variables, summed over
/// the last axis: sum of (mean^2 + deviation^2 - 1) / 2 - log deviation (Kingma and Welling 2014,
/// appendix B). In nats; the mean is over rows.
///   mean, log_deviation: (..., H)   returns () or (...)
/// Throws ShapeError for scalars and for shapes that differ.
/// Elsewhere: `kl_divergence(Normal(...), Normal(0, 1))`; of log deviations
/// Example: `gaussian_kl(x, y, {.reduction = Reduction::sum})`
Tensor gaussian_kl(const Tensor& mean, const Tensor& log_deviation, LossOptions options = {},
                   Place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
