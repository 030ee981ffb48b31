#include "tapegrad/ops/norm.h"

#include <cmath>

#include "tapegrad/core/error.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/internal/field.h"
#include "tapegrad/ops/internal/fused.h"
#include "tapegrad/ops/internal/norm.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// sqrt(x) with gradient 0 at 0, where the gradient of sqrt is infinite.
Tensor root(const Tensor& x) {
  const Tensor is_zero = equal(x, 0.0);
  return where(is_zero, 0.0, sqrt(where(is_zero, 1.0, x)));
}

double row_length(const Tensor& x) { return static_cast<double>(x.shape()[-1]); }

}  // namespace

Tensor composite::layer_norm(const Tensor& x, const NormOptions& options) {
  const Tensor mu = center_over(row, x);
  const Tensor s = deviation(mean(square(x - mu), -1, Keep::yes), row_length(x), options);
  const Tensor z =
      (x - (options.detach_mean ? detach(mu) : mu)) / (options.detach_scale ? detach(s) : s);
  return in_form(z, x, s, options);
}

Tensor composite::rms_norm(const Tensor& x, const NormOptions& options) {
  const Tensor s = deviation(mean(square(x), -1, Keep::yes), row_length(x), options);
  return in_form(x / (options.detach_scale ? detach(s) : s), x, s, options);
}

Tensor deviation(const Tensor& moment, double count, const NormOptions& options,
                 const Tensor& smoothing) {
  const bool biased = options.variance == Variance::biased;
  const Tensor variance = biased ? moment : moment * (count / (count - 1));
  if (smoothing.defined()) return sqrt(variance + square(smoothing));
  return options.place == Epsilon::inside_root ? sqrt(variance + options.epsilon)
                                               : root(variance) + options.epsilon;
}

Tensor in_form(const Tensor& z, const Tensor& x, const Tensor& s, const NormOptions& options) {
  if (options.is_of_paper()) return z;
  const Tensor w = options.unit_factor ? detach(s) * z : z;
  return w + detach((options.identity_forward ? x : z) - w);
}

kernels::RowNorm row_norm(bool centered, const NormOptions& options, Index length) {
  const Index divisor = length - (options.variance == Variance::unbiased ? 1 : 0);
  return {.centered = centered,
          .outside_root = options.place == Epsilon::outside_root,
          .detached_mean = options.detach_mean,
          .detached_scale = options.detach_scale,
          .epsilon = static_cast<real>(options.epsilon),
          .divisor = static_cast<real>(divisor)};
}

namespace {

using kernels::Lines;

// Normalizes the rows or the columns of a matrix: to mean 0 and mean square 1, or to mean square 1
// only.
struct NormalizeLines {
  static constexpr const char* name = "normalize";

  Lines lines;
  bool centered;
  NormOptions options;
  Tensor inverses = {}, slopes = {};  // of each line, as in kernels::NormLoops
  Tensor normalized = {};             // unless it is the value

  Tensor definition(const Operands<1>& in) const {
    if (lines == Lines::rows) return of_rows(in[0]);
    return transpose(of_rows(transpose(in[0])));
  }
  Tensor value(const Operands<1>& in) {
    const kernels::Matrix shape = matrix(in[0].shape());
    inverses = Tensor::uninitialized({shape.count(lines)});
    slopes = Tensor::uninitialized({shape.count(lines)});
    Tensor y = Tensor::uninitialized(in[0].shape());
    kernels::normalize(row_norm(shape), lines, shape, in[0].data(), y.mutable_data(),
                       inverses.mutable_data(), slopes.mutable_data());
    if (options.unit_factor) inverses = ones(inverses.shape());
    if (!options.identity_forward) return y;
    normalized = y;
    return in[0].view(in[0].shape());
  }
  Gradients<1> gradients(const Operands<1>&, const Tensor& g, const Tensor& value,
                         const Wanted<1>&) const {
    const kernels::Matrix shape = matrix(g.shape());
    const Tensor& y = options.identity_forward ? normalized : value;
    Tensor dx = Tensor::uninitialized(g.shape());
    kernels::normalize_back(row_norm(shape), lines, shape, g.data(), y.data(), inverses.data(),
                            slopes.data(), dx.mutable_data());
    return {dx};
  }

 private:
  Tensor of_rows(const Tensor& x) const {
    return centered ? composite::layer_norm(x, options) : composite::rms_norm(x, options);
  }
  kernels::RowNorm row_norm(const kernels::Matrix& shape) const {
    return tapegrad::row_norm(centered, options, lines == Lines::rows ? shape.columns : shape.rows);
  }
};

}  // namespace

Tensor normalize_lines(const Tensor& x, Lines lines, bool centered, const NormOptions& options,
                       const char* node, Place place) {
  return fused(NormalizeLines{lines, centered, options}, Operands<1>{x}, place, node);
}

Tensor layer_norm(const Tensor& x, const NormOptions& options, Place place) {
  const OperationScope scope("layer_norm", place, x);
  expect_norm("layer_norm", both(row), options, x, {});
  return normalize_lines(x, Lines::rows, true, options, "layer_norm", place);
}

Tensor rms_norm(const Tensor& x, const NormOptions& options, Place place) {
  const OperationScope scope("rms_norm", place, x);
  expect_norm("rms_norm", {.center = {}, .scale = row}, options, x, {});
  return normalize_lines(x, Lines::rows, false, options, "rms_norm", place);
}

Tensor ada_scale(const Tensor& y, const AdaOptions& options, Place place) {
  const OperationScope scope("ada_scale", place, y);
  expect<ArgumentError>(std::isfinite(options.factor) && std::isfinite(options.slope),
                        "ada_scale: factor and slope must be finite: {}, {}", options.factor,
                        options.slope);
  const Tensor factor = options.factor * (1 - options.slope * y);
  return (options.detach_factor ? detach(factor) : factor) * y;
}

Tensor weight_norm(const Tensor& v, const Tensor& gain, const Axes& axes, Place place) {
  const OperationScope scope("weight_norm", place, v, gain);
  const Tensor length = norm(v, axes, Keep::yes);
  return gain * (v / where(equal(length, 0.0), 1.0, length));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
