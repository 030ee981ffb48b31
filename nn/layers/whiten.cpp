#include "tapegrad/nn/layers/whiten.h"

#include "tapegrad/nn/layers/norm.h"
#include "tapegrad/nn/options.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// x with the channels last, as (groups, samples, channels of a group).
Tensor to_groups(const Tensor& x, bool images, Index groups) {
  const Tensor rows = images ? permute(x, {0, 2, 3, 1}) : x;
  const Index channels = rows.shape()[-1];
  return permute(reshape(rows, {x.size() / channels, groups, channels / groups}), {1, 0, 2});
}

Tensor from_groups(const Tensor& y, bool images, const Shape& shape) {
  const Tensor rows = permute(y, {1, 0, 2});
  if (!images) return reshape(rows, shape);
  return permute(reshape(rows, {shape[0], shape[2], shape[3], shape[1]}), {0, 3, 1, 2});
}

}  // namespace

Tensor inverse_root(const Tensor& covariance, Index iterations, Place place) {
  const PlaceScope caller(place);
  expect_defined("inverse_root", covariance);
  expect(covariance.rank() >= 2 && covariance.shape()[-1] == covariance.shape()[-2],
         "inverse_root: needs square matrices (..., n, n): {}", covariance.shape());
  expect_positive("inverse_root", "iterations", iterations);
  const Shape one = covariance.shape().with(-1, 1).with(-2, 1);
  const Tensor trace = reshape(sum(diagonal(covariance), -1), one);
  const Tensor scaled = covariance / trace;
  // P^3 S, as it is printed, amplifies rounding errors. With Y = S P, the same P becomes T P for
  // T = (3 I - P Y) / 2, which does not (Higham 2008, "Functions of matrices", section 6.7).
  const Tensor unit = eye(covariance.shape()[-1]);
  Tensor y = scaled, factor = 1.5 * unit - 0.5 * scaled, p = factor;  // the first, from P = I
  for (Index k = 1; k < iterations; ++k) {
    y = matmul(y, factor);
    factor = 1.5 * unit - 0.5 * matmul(p, y);
    p = matmul(factor, p);
  }
  return p / sqrt(trace);
}

// Uses the batch's mean and covariance in training, otherwise the running averages of the mean and
// of the whitening matrix (Huang et al. 2019, algorithms 1 and 2).
Tensor Norm::whiten(const Tensor& x, Mode mode) const {
  const bool images = where_ == Channels::second;
  const Tensor groups = to_groups(x, images, spec.groups);
  const Index samples = groups.shape()[1], size = groups.shape()[2];
  const auto apply = [&](const Tensor& centered, const Tensor& matrix) {
    return from_groups(matmul(centered, matrix), images, x.shape());
  };
  if (!mode.is_training())
    return apply(groups - running_mean.value().view({spec.groups, 1, size}), running_whitening);

  const Tensor mu = mean(groups, 1, Keep::yes);
  const Tensor centered = groups - mu;
  const bool unbiased = spec.statistics.variance == Variance::unbiased && samples > 1;
  const Tensor covariance =
      matmul(centered, centered, {.a = true}) / static_cast<double>(samples - (unbiased ? 1 : 0));
  const Tensor matrix = inverse_root(covariance + epsilon() * eye(size), spec.iterations);
  if (!recomputing() && samples > 0) {
    const NoGrad no_grad;
    const auto update = [&](Buffer buffer, const Tensor& found) {
      const Tensor before = buffer;
      buffer.set((1 - spec.momentum) * before + spec.momentum * found.view(before.shape()));
    };
    update(running_mean, mu);
    update(running_whitening, matrix);
  }
  return apply(centered, matrix);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
