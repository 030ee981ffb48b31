#pragma once

// Normalized generalized linear models, after section 5.2 of Ba et al. 2016, and their Fisher
// information by automatic differentiation.
//
// Outputs have natural parameters theta_i = g_i (a_i - mu_i) / sigma_i + b_i with a = W x, and
// dispersion 1. With J = dtheta/d(W, b, g) the Fisher information is E[J^T Cov[y|x] J].

#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab::glm {

inline constexpr Index cases = 12, inputs = 4, outputs = 3;
inline constexpr Index weights = outputs * inputs;  // w_1, w_2, ..., then b, then g
inline constexpr Index all_parameters = weights + 2 * outputs;

enum class Kind { standard, batch, weight, layer };
inline constexpr const char* names[] = {"standard", "batch", "weight", "layer"};

inline Tensor weights_of(const Tensor& p) {
  return reshape(slice(p, 0, 0, weights), {outputs, inputs});
}
inline Tensor bias_of(const Tensor& p) { return slice(p, 0, weights, weights + outputs); }
inline Tensor gain_of(const Tensor& p) { return slice(p, 0, weights + outputs, all_parameters); }

struct Statistics {
  Tensor mu, sigma;  // broadcast to (cases, outputs)
};
inline Statistics statistics(Kind kind, const Tensor& w, const Tensor& a) {
  if (kind == Kind::batch) return {mean(a, 0, Keep::yes), stddev(a, 0, Keep::yes)};
  if (kind == Kind::layer) return {mean(a, 1, Keep::yes), stddev(a, 1, Keep::yes)};
  if (kind == Kind::weight) return {zeros({1, 1}), reshape(norm(w, 1), {1, outputs})};
  return {zeros({1, 1}), ones({1, 1})};
}

/// Natural parameters (cases, outputs).
inline Tensor natural(Kind kind, const Tensor& p, const Tensor& x) {
  const Tensor a = matmul(x, weights_of(p), {.b = true});
  const auto [mu, sigma] = statistics(kind, weights_of(p), a);
  return gain_of(p) * ((a - mu) / sigma) + bias_of(p);
}

/// Variances of the outputs: Bernoulli, or of a Gaussian 1.
inline Tensor variances(const Tensor& theta, bool bernoulli) {
  const Tensor mean = sigmoid(theta);
  return bernoulli ? mean * (1 - mean) : ones(theta.shape());
}

/// E[J^T Cov J] for J of (cases, outputs, parameters): (parameters, parameters).
inline Tensor fisher(const Tensor& j, const Tensor& covariance) {
  const Index rows = j.shape()[0] * j.shape()[1];
  const Tensor flat = reshape(j, {rows, j.shape()[2]});
  return matmul(flat * reshape(covariance, {rows, 1}), flat, {.a = true}) /
         static_cast<double>(j.shape()[0]);
}

inline Tensor exact_jacobian(Kind kind, const Tensor& p, const Tensor& x) {
  return jacobian([&](const Tensor& at) { return natural(kind, at, x); }, p);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab::glm
