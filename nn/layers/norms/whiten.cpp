#include "tapegrad/nn/layers/norms/whiten.h"

#include "tapegrad/core/options.h"
#include "tapegrad/nn/layers/norms/internal/norms.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {

Tensor inverse_root(const Tensor& covariance, Index iterations, Place place) {
  const OperationScope scope("inverse_root", place, covariance);
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

namespace norms {

// IterNorm (Huang et al. 2019, algorithms 1 and 2): uses the batch's mean and covariance in
// training, otherwise the running averages of the mean and of the whitening matrix.
struct Whiten : Averaging {
  Index groups = 1;
  Index iterations = 5;

  Whiten() : Averaging("whiten") {
    noun = "whitening";
    unlike_pytorch = "a norm that whitens";
  }
  Index parts() const override { return groups; }
  std::vector<NamedBuffer> buffers(const Shape& shape) const override {
    const Index size = shape[0] / groups;
    return {{"running_mean", Buffer(zeros(shape))},
            {"running_whitening", Buffer(broadcast_to(eye(size), {groups, size, size}))}};
  }
  void expect_possible(const NormOptions& statistics) const override {
    Averaging::expect_possible(statistics);
    expect<ArgumentError>(iterations <= 100, "norm: iterations must lie in [1, 100]: {}",
                          iterations);
    expect<ArgumentError>(
        statistics.place == Epsilon::inside_root,
        "norm: the smoothing term of whiten is added to the covariance: place is out");
  }
  OptionSetters setters() override {
    return {{"groups", count_option(groups)},
            {"iterations", count_option(iterations)},
            {"momentum", number_option(momentum)}};
  }

  Tensor compute(const Tensor& x, const Norm& norm, Index step, Mode mode) const override {
    expect_batch(x.shape(), norm.buffers[0].buffer.value().size(), step, mode);
    if (norm.where() != Channels::second) return of_rows(x, norm, mode);
    return permute(of_rows(permute(x, {0, 2, 3, 1}), norm, mode), {0, 3, 1, 2});
  }

 private:
  // x: (..., C)   returns: same shape
  Tensor of_rows(const Tensor& x, const Norm& norm, Mode mode) const {
    const Index samples = x.size() / x.shape()[-1], size = x.shape()[-1] / groups;
    const Tensor rows = permute(reshape(x, {samples, groups, size}), {1, 0, 2});
    Buffer means = norm.buffers[0].buffer, matrices = norm.buffers[1].buffer;
    const auto apply = [&](const Tensor& centered, const Tensor& matrix) {
      return reshape(permute(matmul(centered, matrix), {1, 0, 2}), x.shape());
    };
    if (!mode.is_training()) return apply(rows - means.value().view({groups, 1, size}), matrices);

    const Tensor mu = mean(rows, 1, Keep::yes);
    const Tensor centered = rows - mu;
    const bool unbiased = norm.spec.statistics.variance == Variance::unbiased && samples > 1;
    const Tensor covariance =
        matmul(centered, centered, {.a = true}) / static_cast<double>(samples - (unbiased ? 1 : 0));
    const Tensor matrix = inverse_root(covariance + norm.epsilon() * eye(size), iterations);
    if (!recomputing() && samples > 0) {
      const NoGrad no_grad;
      means.set(next_average(means, mu));
      matrices.set(next_average(matrices, matrix));
    }
    return apply(centered, matrix);
  }
};
std::unique_ptr<NormMethod> whiten() { return std::make_unique<Whiten>(); }

}  // namespace norms
}  // namespace tapegrad::TAPEGRAD_SCALAR
