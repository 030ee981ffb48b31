#pragma once

// What the experiments measure. Each takes it as an argument, so that a test can plant an error in
// it and see the claims fail (lab/tests/experiments/faults/).

#include <cstdint>
#include <functional>
#include <string>

#include "experiments/normalized_models.h"
#include "experiments/report.h"
#include "tapegrad/nn/layers/norm.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// AdaNorm in two steps, the first without epsilon.
struct AdaNorm {
  std::function<Tensor(const Tensor& x)> normalize = [](const Tensor& x) {
    return layer_norm(x, {.epsilon = 0});
  };
  std::function<Tensor(const Tensor& y, const AdaOptions&)> scale =
      [](const Tensor& y, const AdaOptions& options) { return ada_scale(y, options); };
};
void measure_adanorm(Report& report, const AdaNorm& subject, Random random);

/// Rows that the factors of AdaNorm are sought for: layer-normalized ones.
struct NormalizedRows {
  std::function<Tensor(const Tensor& x)> normalize = AdaNorm().normalize;
};
void measure_theorem2(Report& report, const NormalizedRows& subject, Random random);

/// The norms of the recurrent nets.
struct RecurrentSystems {
  std::string none = "none", layer = "layer";
  std::string batch = "batch:steps=20";  ///< running averages for as many steps as it is trained on
};
void measure_dynamics(Report& report, const RecurrentSystems& subject, Index steps, Random random);

/// What activations and weights are normalized with.
struct Normalizations {
  std::function<Tensor(const Tensor&, const NormFields&, const NormOptions&)> normalize =
      [](const Tensor& x, const NormFields& fields, const NormOptions& options) {
        return tapegrad::normalize(x, fields, options);
      };
  std::function<Tensor(const Tensor& v, const Tensor& gain)> weight_norm =
      [](const Tensor& v, const Tensor& gain) { return tapegrad::weight_norm(v, gain, 0); };
};
void measure_invariance(Report& report, const Normalizations& subject, Random random);

/// Layer normalization with statistics attached or detached, as an operation and in a net.
struct LayerNorm {
  std::function<Tensor(const Tensor& x, const NormOptions&)> operation =
      [](const Tensor& x, const NormOptions& options) { return layer_norm(x, options); };
  std::function<NormSpec(const NormOptions&)> spec = [](const NormOptions& options) {
    NormSpec of("layer_simple");
    of.statistics = options;
    return of;
  };
};
/// rows: drawn for each setting   steps: of the net's training
void measure_theorem1(Report& report, const LayerNorm& subject, Index rows, Index steps,
                      std::uint64_t seed);

/// Normalized generalized linear models by their natural parameters.
struct LinearModels {
  std::function<Tensor(glm::Kind, const Tensor& p, const Tensor& x)> natural = glm::natural;

  /// Its derivatives with respect to p: (cases, outputs, parameters).
  Tensor jacobian(glm::Kind kind, const Tensor& p, const Tensor& x) const {
    return tapegrad::jacobian([&](const Tensor& at) { return natural(kind, at, x); }, p);
  }
  /// Their Fisher information.
  Tensor information(glm::Kind kind, const Tensor& p, const Tensor& x, bool bernoulli) const {
    return glm::fisher(jacobian(kind, p, x), glm::variances(natural(kind, p, x), bernoulli));
  }
};
/// draws: models for the table of eq. 13 and 14
void measure_geometry(Report& report, const LinearModels& subject, Index draws, Random random);
void measure_spectra(Report& report, const LinearModels& subject, Random random);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
