#include "tapegrad/nn/functions/loss.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tapegrad/core/error.h"
#include "tapegrad/nn/functions/internal/loss.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/internal/select.h"
#include "tapegrad/ops/reduce.h"
#include "tapegrad/ops/softmax.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

void expect_rows(const char* operation, const Tensor& scores, const Indices& labels,
                 const CrossEntropyOptions& options) {
  expect_defined(operation, scores, labels);
  expect(scores.rank() >= 1 && labels.shape() == scores.shape().without(-1),
         "{}: logits {} need one label a row: labels {}", operation, scores.shape(),
         labels.shape());
  const double smoothing = options.label_smoothing;
  expect<ArgumentError>(smoothing >= 0 && smoothing <= 1,
                        "{}: label smoothing must lie in [0, 1]: {}", operation, smoothing);
  expect(!options.weight.defined() || options.weight.shape() == Shape{scores.shape()[-1]},
         "{}: logits {} need one weight a class: {}", operation, scores.shape(),
         options.weight.shape());
}

// Whether a tape looks for wrong values. To read all targets costs about what the loss does.
bool checks_values() {
  const Tape* tape = Tape::active();
  return tape != nullptr && tape->options().check_finite;
}

void check_probabilities(const char* operation, const Tensor& p) {
  if (!checks_values()) return;
  const auto values = p.values();
  const auto wrong =
      std::find_if(values.begin(), values.end(), [](real v) { return !(v >= 0 && v <= 1); });
  expect<ArgumentError>(wrong == values.end(), "{}: a target lies outside [0, 1]: {}", operation,
                        wrong == values.end() ? real{0} : *wrong);
}

void check_distributions(const char* operation, const Tensor& p) {
  if (!checks_values()) return;
  check_probabilities(operation, p);
  constexpr double rounding = 1e-3;
  const Tensor sums = sum(detach(p), -1);
  for (const real each : sums.values())
    expect<ArgumentError>(std::abs(each - 1.0) < rounding,
                          "{}: the probabilities in a row of the targets sum to {}, not to 1",
                          operation, each);
}

// `nll` of arguments that `expect_rows` has checked.
Tensor nll_of_rows(const char* operation, const Tensor& log_p, const Indices& labels,
                   const CrossEntropyOptions& options) {
  Indices chosen = labels;
  Tensor counted;  // 1 for rows that count; undefined when all do
  if (options.ignore_index) {
    chosen = Indices(labels.shape(), labels.values());
    counted = ones(labels.shape());
    for (Index i = 0; i < labels.size(); ++i)
      if (labels.data()[i] == *options.ignore_index) {
        chosen.mutable_data()[i] = 0;
        counted.mutable_data()[i] = 0;
      }
    const auto rows = counted.values();
    expect<ArgumentError>(
        options.reduction != Reduction::mean || rows.empty() ||
            std::find(rows.begin(), rows.end(), real{1}) != rows.end(),
        "{}: all {} labels are the ignored one, {}, and their mean would be 0 / 0; leave out such "
        "batches, or take the sum",
        operation, labels.size(), *options.ignore_index);
  }
  expect_below(operation, chosen, log_p.shape()[-1]);

  const Tensor& weight = options.weight;
  const double smoothing = options.label_smoothing;
  Tensor loss = -pick(log_p, chosen);
  // A class of weight 0 counts nothing, even if its log-probability is -inf.
  if (weight.defined()) loss = weighed(loss, take(weight, chosen));
  if (smoothing > 0)
    loss = (1 - smoothing) * loss -
           smoothing * mean(weight.defined() ? weighed(log_p, weight) : log_p, -1);
  if (counted.defined()) loss = where(counted, loss, 0.0);

  const bool all_count_one = !counted.defined() && !weight.defined();
  if (all_count_one || options.reduction != Reduction::mean)
    return reduced(loss, options.reduction);
  Tensor counts = weight.defined() ? take(weight, chosen) : counted;
  if (counted.defined() && weight.defined()) counts = where(counted, counts, 0.0);
  return sum(loss) / sum(counts);
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Indices& labels,
                     const CrossEntropyOptions& options, Place place) {
  const PlaceScope caller(place);
  expect_rows("cross_entropy", logits, labels, options);
  return nll_of_rows("cross_entropy", log_softmax(logits), labels, options);
}

Tensor cross_entropy(const Tensor& logits, const Tensor& target, LossOptions options, Place place) {
  const OperationScope scope("cross_entropy", place, logits, target);
  expect(logits.rank() == 0 || target.shape() != logits.shape().without(-1),
         "cross_entropy: {} are not probabilities for logits {}; labels are Indices",
         target.shape(), logits.shape());
  expect_same("cross_entropy", logits, target);
  check_distributions("cross_entropy", target);
  return reduced(-sum(weighed(log_softmax(logits), target), -1), options.reduction);
}

Tensor nll(const Tensor& log_p, const Indices& labels, const CrossEntropyOptions& options,
           Place place) {
  const PlaceScope caller(place);
  expect_rows("nll", log_p, labels, options);
  return nll_of_rows("nll", log_p, labels, options);
}

Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        const BinaryCrossEntropyOptions& options, Place place) {
  const PlaceScope caller(place);
  constexpr const char* operation = "binary_cross_entropy_with_logits";
  expect_same(operation, logits, target);
  check_probabilities(operation, target);
  Tensor positive = target;
  if (const Tensor& weight = options.positive_weight; weight.defined()) {
    expect(broadcast(operation, weight.shape(), logits.shape()) == logits.shape(),
           "{}: the weights of positives do not broadcast to the logits {}: {}", operation,
           logits.shape(), weight.shape());
    positive = weight * target;
  }
  // softplus(logits) - logits * target would have rounding errors for large logits and NaN for
  // infinite ones.
  return reduced(weighed(softplus(-logits), positive) + weighed(softplus(logits), 1.0 - target),
                 options.reduction);
}

Tensor mse(const Tensor& x, const Tensor& target, LossOptions options, Place place) {
  const PlaceScope caller(place);
  expect_same("mse", x, target);
  return reduced(square(x - target), options.reduction);
}

Tensor l1(const Tensor& x, const Tensor& target, LossOptions options, Place place) {
  const PlaceScope caller(place);
  expect_same("l1", x, target);
  return reduced(abs(x - target), options.reduction);
}

Tensor huber(const Tensor& x, const Tensor& target, HuberOptions options, Place place) {
  const PlaceScope caller(place);
  expect_same("huber", x, target);
  const double delta = options.delta;
  expect<ArgumentError>(delta > 0, "huber: delta must be positive: {}", delta);
  // The part within the bounds counts quadratically, the part beyond linearly.
  const Tensor error = x - target, within = clamp(error, -delta, delta);
  return reduced(0.5 * square(within) + delta * abs(error - within), options.reduction);
}

Tensor hinge(const Tensor& x, const Tensor& target, LossOptions options, Place place) {
  const PlaceScope caller(place);
  expect_same("hinge", x, target);
  return reduced(relu(1.0 - x * target), options.reduction);
}

Tensor kl_divergence(const Tensor& log_q, const Tensor& p, LossOptions options, Place place) {
  const PlaceScope caller(place);
  expect_same("kl_divergence", log_q, p);
  expect(p.rank() >= 1, "kl_divergence: needs an axis of classes: {}", p.shape());
  check_distributions("kl_divergence", p);
  const Tensor is_zero = equal(p, 0.0);
  const Tensor ratio = log(where(is_zero, 1.0, p)) - where(is_zero, 0.0, log_q);
  return reduced(sum(p * ratio, -1), options.reduction);
}

Tensor gaussian_nll(const Tensor& x, const Tensor& target, const Tensor& variance,
                    GaussianNllOptions options, Place place) {
  const PlaceScope caller(place);
  expect_same("gaussian_nll", x, target);
  expect_defined("gaussian_nll", variance);
  const bool one_a_row = x.rank() >= 1 && variance.shape() == x.shape().with(-1, 1);
  expect(variance.shape() == x.shape() || one_a_row,
         "gaussian_nll: the variance needs the shape {} or 1 along its last axis: {}", x.shape(),
         variance.shape());
  const auto values = variance.values();
  const auto negative = std::find_if(values.begin(), values.end(), [](real v) { return v < 0; });
  expect<ArgumentError>(negative == values.end(), "gaussian_nll: a variance is negative: {}",
                        negative == values.end() ? real{0} : *negative);
  expect<ArgumentError>(options.epsilon > 0, "gaussian_nll: epsilon must be positive: {}",
                        options.epsilon);
  const Tensor at_least = variance + detach(maximum(variance, options.epsilon) - variance);
  Tensor loss = 0.5 * (log(at_least) + square(x - target) / at_least);
  if (options.full) loss = loss + 0.5 * std::log(2 * std::numbers::pi);
  return reduced(loss, options.reduction);
}

Tensor gaussian_kl(const Tensor& mean, const Tensor& log_deviation, LossOptions options,
                   Place place) {
  const PlaceScope caller(place);
  expect_same("gaussian_kl", mean, log_deviation);
  expect(mean.rank() >= 1, "gaussian_kl: needs an axis of variables: {}", mean.shape());
  // exp(2 l) - 1 is exact near l = 0.
  const Tensor each = 0.5 * (square(mean) + expm1(2.0 * log_deviation)) - log_deviation;
  return reduced(sum(each, -1), options.reduction);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
