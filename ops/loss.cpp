#include "tapegrad/ops/loss.h"

#include <vector>

#include "tapegrad/core/error.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/reduce.h"
#include "tapegrad/ops/softmax.h"

namespace tapegrad {
namespace {

void expect_same(const char* operation, const Tensor& x, const Tensor& target) {
  expect(x.shape() == target.shape(), "{}: shapes differ: {} and {}", operation, x.shape(),
         target.shape());
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Indices& labels, CrossEntropyOptions options,
                     Place place) {
  expect(logits.rank() >= 1 && labels.shape() == logits.shape().without(-1),
         "cross_entropy: logits {} need one label a row: labels {}", logits.shape(),
         labels.shape());
  const double smoothing = options.label_smoothing;
  expect(smoothing >= 0 && smoothing <= 1, "cross_entropy: label smoothing must lie in [0, 1]: {}",
         smoothing);
  const PlaceScope caller(place);

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
  expect_same("cross_entropy", logits, target);
  const PlaceScope caller(place);
  return mean(-sum(log_softmax(logits) * target, -1));
}

Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target, Place place) {
  expect_same("binary_cross_entropy_with_logits", logits, target);
  const PlaceScope caller(place);
  return mean(softplus(logits) - logits * target);
}

Tensor mse(const Tensor& x, const Tensor& target, Place place) {
  expect_same("mse", x, target);
  const PlaceScope caller(place);
  return mean(square(x - target));
}

Tensor l1(const Tensor& x, const Tensor& target, Place place) {
  expect_same("l1", x, target);
  const PlaceScope caller(place);
  return mean(abs(x - target));
}

}  // namespace tapegrad
