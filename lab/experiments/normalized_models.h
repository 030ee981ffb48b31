#pragma once

// Generalized linear models, plain and normalized, after section 5.2 of Ba et al. 2016, and their
// Fisher information.
//
// Outputs have natural parameters theta_i = g_i (a_i - mu_i) / sigma_i + b_i with a = W x, and
// dispersion 1. With J = dtheta/d(W, b, g) the Fisher information is E[J^T Cov[y|x] J].

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

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

struct NormStatistics {
  Tensor mu, sigma;  // broadcast to (cases, outputs)
};
inline NormStatistics statistics(Kind kind, const Tensor& w, const Tensor& a) {
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
  return matmul(flat * reshape(covariance, {rows, 1}), flat, {.a = true}) / j.shape()[0];
}

/// The outputs of a generalized linear model, eq. 10:
/// log P(y | theta) = (theta y - eta(theta)) / phi + c(y, phi).
struct Outputs {
  std::string name;
  Tensor labels;                                   ///< y: (cases, labels, outputs)
  Tensor probability;                              ///< of each label: (cases, labels)
  std::function<Tensor(const Tensor& theta)> eta;  ///< (cases, 1)
  double phi = 1;
};

/// theta y for all labels: (cases, labels).
inline Tensor every_label(const Tensor& theta, const Tensor& labels) {
  return einsum("no,nlo->nl", {theta, labels});
}

/// Three kinds of outputs with these natural parameters, of (cases, outputs).
inline std::vector<Outputs> kinds_of_outputs(const Tensor& theta) {
  const auto for_cases = [](const Tensor& labels) {
    return broadcast_to(labels, labels.shape().insert(0, cases));
  };
  const Tensor bits({8, outputs}, {0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1,  //
                                   1, 0, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1});
  const auto binary_eta = [](const Tensor& t) { return sum(softplus(t), 1, Keep::yes); };
  constexpr double phi = 2;
  // Scores are linear in y, so eight points with the moments of the normal distribution suffice.
  const Tensor around = reshape(theta, {cases, 1, outputs}) + std::sqrt(phi) * (2.0 * bits - 1);
  return {{"softmax", for_cases(eye(outputs)), softmax(theta),
           [](const Tensor& t) { return logsumexp(t, 1, Keep::yes); }},
          {"Bernoulli", for_cases(bits),
           exp(every_label(theta, for_cases(bits)) - binary_eta(theta)), binary_eta},
          {"Gaussian, phi = 2", around, ones({cases, 8}) / 8.0,
           [](const Tensor& t) { return sum(square(t), 1, Keep::yes) / 2.0; }, phi}};
}

/// Eq. 12 as printed: E[Cov[y|x] / phi^2 kron (x, 1) (x, 1)^T], for parameters (w_1, b_1, w_2,
/// ...).
inline Tensor kronecker_fisher(const Outputs& of, const Tensor& x) {
  const Tensor expected = einsum("nl,nlo->no", {of.probability, of.labels});
  const Tensor covariance = einsum("nl,nli,nlj->nij", {of.probability, of.labels, of.labels}) -
                            einsum("ni,nj->nij", {expected, expected});
  const Tensor input = concat({x, ones({cases, 1})}, 1);
  const Tensor products = einsum("nij,nk,nl->ikjl", {covariance, input, input});
  return reshape(products, {weights + outputs, weights + outputs}) / (cases * of.phi * of.phi);
}

/// The rows of eq. 13 with chi of eq. 14: each output's own parameters only.
inline Tensor printed_jacobian(Kind kind, const Tensor& p, const Tensor& x) {
  const Tensor w = weights_of(p), a = matmul(x, w, {.b = true});
  const auto [mu, sigma] = statistics(kind, w, a);
  const Tensor y = (a - mu) / sigma, centered = x - mean(x, 0);
  const Tensor covariance = matmul(centered, centered, {.a = true}) / cases;
  Tensor j = zeros({cases, outputs, all_parameters});
  real* out = j.mutable_data();
  const auto select_row = [](const Tensor& t, Index n, Index i) {
    return t.data()[(t.shape()[0] == 1 ? 0 : n) * t.shape()[1] + (t.shape()[1] == 1 ? 0 : i)];
  };
  for (Index n = 0; n < cases; ++n)
    for (Index i = 0; i < outputs; ++i) {
      const Tensor xn = select(x, n), wi = select(w, i);
      const double s = select_row(sigma, n, i), yn = select_row(y, n, i);
      Tensor chi = xn;
      if (kind == Kind::batch) {
        const Tensor slope = matmul(covariance, reshape(wi, {inputs, 1})) / s;
        chi = xn - mean(x, 0) - yn * reshape(slope, {inputs});
      } else if (kind == Kind::weight) {
        chi = xn - yn * wi / s;
      } else if (kind == Kind::layer) {
        chi = xn * (1 - 1.0 / outputs - yn * yn / outputs);
      }
      chi = chi * (double{gain_of(p).data()[i]} / s);
      real* row = out + (n * outputs + i) * all_parameters;
      std::copy_n(chi.data(), inputs, row + i * inputs);
      row[weights + i] = 1;
      row[weights + outputs + i] = static_cast<real>(yn);
    }
  return j;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab::glm
