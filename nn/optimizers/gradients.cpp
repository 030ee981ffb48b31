#include "tapegrad/nn/optimizers/gradients.h"

#include <cmath>
#include <numeric>
#include <span>

#include "tapegrad/core/error.h"
#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/machine/profile.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/kernels/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// Sums tile by tile in one pass, and adds the tiles in order.
double squared_norm(const Tensor& gradient) {
  if (!gradient.defined()) return 0;
  count_pass(gradient.size(), 0);
  const Index tiles = (gradient.size() + elements_per_tile - 1) / elements_per_tile;
  std::vector<double> squares(static_cast<std::size_t>(tiles));
  parallel_ranges(gradient.size(), elements_per_tile, [&](Index begin, Index end) {
    const real* values = gradient.data() + begin;
    squares[begin / elements_per_tile] = kernels::reduce().dot(values, values, end - begin);
  });
  return std::accumulate(squares.begin(), squares.end(), 0.0);
}

double common_norm(std::span<const Tensor> gradients) {
  double squares = 0, norm = 0;
  for (const Tensor& gradient : gradients) squares += squared_norm(gradient);
  if (kernels::keeps_digits(squares)) return std::sqrt(squares);
  for (const Tensor& gradient : gradients)
    if (gradient.defined())
      norm = std::hypot(norm, kernels::scaled_norm(gradient.data(), gradient.size()));
  return norm;
}

void expect_limit(const char* operation, double limit) {
  expect<ArgumentError>(limit > 0, "{}: the limit must be positive: {}", operation, limit);
}

void scale_to(Tensor& gradient, double norm, double limit) {
  if (!gradient.defined()) return;
  if (!(norm <= limit)) gradient = gradient * (limit / norm);  // NaN too, so that it shows
}

}  // namespace

double global_norm(const std::vector<Tensor>& gradients) {
  const ProfileSpan span("global_norm");
  return common_norm(gradients);
}

double clip_by_global_norm(std::vector<Tensor>& gradients, double limit) {
  const ProfileSpan span("clip_by_global_norm");
  expect_limit("clip_by_global_norm", limit);
  const NoGrad pause;
  const double norm = common_norm(gradients);
  for (Tensor& gradient : gradients) scale_to(gradient, norm, limit);
  return norm;
}

void clip_by_norm(std::vector<Tensor>& gradients, double limit) {
  const ProfileSpan span("clip_by_norm");
  expect_limit("clip_by_norm", limit);
  const NoGrad pause;
  for (Tensor& gradient : gradients) scale_to(gradient, common_norm({&gradient, 1}), limit);
}

void clip_by_value(std::vector<Tensor>& gradients, double limit) {
  const ProfileSpan span("clip_by_value");
  expect_limit("clip_by_value", limit);
  const NoGrad pause;
  for (Tensor& gradient : gradients)
    if (gradient.defined()) gradient = clamp(gradient, -limit, limit);
}

void accumulate(std::vector<Tensor>& total, const std::vector<Tensor>& gradients) {
  const NoGrad pause;
  if (total.empty()) {
    total = gradients;
    return;
  }
  expect(total.size() == gradients.size(), "accumulate: the numbers of gradients differ: {} and {}",
         gradients.size(), total.size());
  const auto is_in_both = [&](std::size_t i) {
    return gradients[i].defined() && total[i].defined();
  };
  for (std::size_t i = 0; i < total.size(); ++i)
    expect(!is_in_both(i) || gradients[i].shape() == total[i].shape(),
           "accumulate: shapes of gradient {} differ: {} and {}", i, gradients[i].shape(),
           total[i].shape());
  for (std::size_t i = 0; i < total.size(); ++i)
    if (gradients[i].defined()) total[i] = is_in_both(i) ? total[i] + gradients[i] : gradients[i];
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
