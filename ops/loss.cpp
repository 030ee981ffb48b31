#include "tapegrad/ops/loss.h"

#include <vector>

#include "tapegrad/core/error.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/reduce.h"
#include "tapegrad/ops/softmax.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

void expect_same(const char* operation, const Tensor& x, const Tensor& target) {
  expect_defined(operation, x, target);
  expect(x.shape() == target.shape(), "{}: shapes differ: {} and {}", operation, x.shape(),
         target.shape());
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Indices& labels, CrossEntropyOptions options,
                     Place place) {
  const PlaceScope caller(place);
  expect_defined("cross_entropy", logits, labels);
  expect(logits.rank() >= 1 && labels.shape() == logits.shape().without(-1),
         "cross_entropy: logits {} need one label a row: labels {}", logits.shape(),
         labels.shape());
  const double smoothing = options.label_smoothing;
  expect<ArgumentError>(smoothing >= 0 && smoothing <= 1,
                        "cross_entropy: label smoothing must lie in [0, 1]: {}", smoothing);

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
  }
  expect_below("cross_entropy", chosen, logits.shape()[-1]);

  const Tensor log_p = log_softmax(logits);
  Tensor loss = -pick(log_p, chosen);
  if (smoothing > 0) loss = (1 - smoothing) * loss - smoothing * mean(log_p, -1);
  if (!counted.defined()) return mean(loss);
  return sum(where(counted, loss, 0.0)) / sum(counted);
}

Tensor cross_entropy(const Tensor& logits, const Tensor& target, Place place) {
  const PlaceScope caller(place);
  expect_same("cross_entropy", logits, target);
  return mean(-sum(log_softmax(logits) * target, -1));
}

Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target, Place place) {
  const PlaceScope caller(place);
  expect_same("binary_cross_entropy_with_logits", logits, target);
  // softplus(logits) - logits * target would have rounding errors for large logits and NaN for
  // infinite ones.
  return mean(target * softplus(-logits) + (1.0 - target) * softplus(logits));
}

Tensor mse(const Tensor& x, const Tensor& target, Place place) {
  const PlaceScope caller(place);
  expect_same("mse", x, target);
  return mean(square(x - target));
}

Tensor l1(const Tensor& x, const Tensor& target, Place place) {
  const PlaceScope caller(place);
  expect_same("l1", x, target);
  return mean(abs(x - target));
}

Tensor huber(const Tensor& x, const Tensor& target, double delta, Place place) {
  const PlaceScope caller(place);
  expect_same("huber", x, target);
  expect<ArgumentError>(delta > 0, "huber: delta must be positive: {}", delta);
  // The part within the bounds counts quadratically, the part beyond linearly.
  const Tensor error = x - target, within = clamp(error, -delta, delta);
  return mean(0.5 * square(within) + delta * abs(error - within));
}

Tensor hinge(const Tensor& x, const Tensor& target, Place place) {
  const PlaceScope caller(place);
  expect_same("hinge", x, target);
  return mean(relu(1.0 - x * target));
}

Tensor kl_divergence(const Tensor& log_q, const Tensor& p, Place place) {
  const PlaceScope caller(place);
  expect_same("kl_divergence", log_q, p);
  expect(p.rank() >= 1, "kl_divergence: needs an axis of classes: {}", p.shape());
  const Tensor is_zero = equal(p, 0.0);
  const Tensor ratio = log(where(is_zero, 1.0, p)) - where(is_zero, 0.0, log_q);
  return mean(sum(p * ratio, -1));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
