#include "tapegrad/zoo/mixture.h"

#include <cmath>
#include <numbers>

#include "tapegrad/core/error.h"
#include "tapegrad/core/options.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/reduce.h"
#include "tapegrad/ops/softmax.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// The numbers of a mixture, each (..., M), but `pen` (...).
struct Mixture {
  Tensor weight, x, y, log_s, log_t, r, pen;
};

Mixture mixture_of(const char* operation, const Tensor& numbers) {
  expect_defined(operation, numbers);
  const Index count = numbers.rank() > 0 ? numbers.shape()[-1] : 0;
  expect(count >= 7 && count % 6 == 1, "{}: needs 6 M + 1 numbers along the last axis: {}",
         operation, numbers.shape());
  const Index m = count / 6;
  const auto parts = split(numbers, {m, m, m, m, m, m, 1}, -1);
  constexpr double limit = 7;  // of log-deviations
  return {.weight = parts[0],
          .x = parts[1],
          .y = parts[2],
          .log_s = clamp(parts[3], -limit, limit),
          .log_t = clamp(parts[4], -limit, limit),
          .r = 0.999 * tanh(parts[5]),
          .pen = select(parts[6], 0, -1)};
}

// log N of each component. With u = (dx - x) / s and v = (dy - y) / t, the exponent
// (u^2 + v^2 - 2 r u v) / (1 - r^2) is (u - r v)^2 / (1 - r^2) + v^2, which does not cancel.
Tensor log_density(const Mixture& mixture, const Tensor& dx, const Tensor& dy) {
  const Tensor u = (dx - mixture.x) * exp(-mixture.log_s);
  const Tensor v = (dy - mixture.y) * exp(-mixture.log_t);
  const Tensor rest = (1.0 - mixture.r) * (1.0 + mixture.r);
  const Tensor exponent = square(u - mixture.r * v) / rest + square(v);
  return -0.5 * (exponent + log(rest)) - mixture.log_s - mixture.log_t -
         std::log(2 * std::numbers::pi);
}

}  // namespace

Tensor mixture_nll(const Tensor& numbers, const Tensor& moves, const MixtureNllOptions& options,
                   Place place) {
  const PlaceScope caller(place);
  const Mixture mixture = mixture_of("mixture_nll", numbers);
  const Shape& shape = mixture.pen.shape();
  expect_defined("mixture_nll", moves);
  expect(moves.shape() == shape.insert(shape.rank(), 3), "mixture_nll: moves of {} need a shape {}",
         moves.shape(), shape.insert(shape.rank(), 3));
  const auto part = [&](Index i) { return slice(moves, -1, i, i + 1); };
  const Tensor densities = log_softmax(mixture.weight) + log_density(mixture, part(0), part(1));
  const Tensor loss =
      softplus(mixture.pen) - mixture.pen * select(moves, 2, -1) - logsumexp(densities, -1);
  const Tensor& counts = options.counted;
  expect(!counts.defined() || counts.shape() == shape,
         "mixture_nll: what counts needs a shape {}: {}", shape, counts.shape());
  const Tensor counted = counts.defined() ? where(counts, loss, 0.0) : loss;
  if (options.reduction == Reduction::none) return counted;
  if (options.reduction == Reduction::sum) return sum(counted);
  return counts.defined() ? sum(counted) / sum(counts) : mean(counted);
}

Tensor sample_mixture(const Tensor& numbers, Random& random, double bias, Place place) {
  const PlaceScope caller(place);
  const NoGrad constants;
  expect_not_negative("sample_mixture", "bias", bias);
  const Mixture mixture = mixture_of("sample_mixture", numbers);
  const Indices component = random.categorical(softmax((1.0 + bias) * mixture.weight));
  const auto chosen = [&](const Tensor& of_all) { return pick(of_all, component); };
  const Tensor u = random.normal(component.shape()), v = random.normal(component.shape());
  const Tensor r = chosen(mixture.r);
  const Tensor dx = chosen(mixture.x) + exp(chosen(mixture.log_s) - bias) * u;
  const Tensor dy = chosen(mixture.y) +
                    exp(chosen(mixture.log_t) - bias) * (r * u + sqrt((1.0 - r) * (1.0 + r)) * v);
  const Tensor lifts = random.uniform(component.shape()) < sigmoid(mixture.pen);
  return stack({dx, dy, lifts}, -1);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
