#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tapegrad/nn/layers/norm.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A normalization in one step of a run. A set is what it normalizes together: a row, a column
/// of the batch, an image. Gradients are gradients of the loss: "after" with respect to the norm's
/// output, before gain and bias, and "before" with respect to its input. They are taken over the
/// sets where neither the input nor the gradient after the norm is constant.
/// Example: `for (const NormRecord& one : read_norm_records("log")) fmt::print("{}\n", one.norm)`
struct NormRecord {
  Index step;
  std::string norm;
  double input_mean, input_variance;  ///< means over all sets
  double mean_after, mean_before;     ///< root mean square over sets of a gradient's mean
  double variance_after, variance_before;
  /// variance_before s^2 / variance_after, where s is the norm's divisor: the ratio of the sums
  /// over the sets, and the largest of one set. At most 1 for layer normalization (theorem 1 of Xu
  /// et al. 2019).
  double variance_ratio, greatest_ratio;
  double mean_scaled;  ///< root mean square over sets of s times the mean before
};

/// A weight matrix or filter in one step.
/// Example: `Probe probe(fields(net)); const std::vector<WeightRecord> records = probe.weights()`
struct WeightRecord {
  Index step;
  std::string weight;
  double norm, gradient_norm;
  double radial;  ///< <W, dL/dW>
  double angle;   ///< between W before and after the update, in radians
};

/// Records statistics of gradients at normalizations, and of weights, in each step of a run.
/// Example: `Probe probe(fields(net)); { const AroundNorms seen(probe.around()); net(x); }`
class Probe {
 public:
  /// net: provides the names of its norms.
  explicit Probe(const Fields& net);

  /// Observes a step while an AroundNorms with this function is in scope.
  AroundNorms::Around around();
  /// Runs `update`, which changes `parameters` by their `gradients`, and ends the step.
  void around_update(Index step, const std::vector<Parameter>& parameters,
                     const std::vector<Tensor>& gradients, const std::function<void()>& update);

  const std::vector<NormRecord>& norms() const { return norms_; }
  const std::vector<WeightRecord>& weights() const { return weights_; }

  /// Loads the records of the resumed run from `directory`, up to `steps_done`. Throws DataError,
  /// naming file and line, for files of another kind.
  void resume(const std::string& directory, Index steps_done);
  /// Writes probe_norms.csv and probe_weights.csv. Throws DataError if they cannot be written.
  void write(const std::string& directory) const;

 private:
  /// The sums of one norm in the current step, over its uses and their sets.
  struct Sums {
    double sets = 0, input_mean = 0, input_variance = 0;
    double compared = 0;                                      // sets with a gradient
    double mean_after = 0, mean_before = 0, mean_scaled = 0;  // of squares
    double variance_after = 0, variance_before = 0, variance_scaled = 0, greatest_ratio = 0;
  };
  std::vector<NamedNorm> names_;
  std::unordered_map<const void*, Sums> sums_;
  std::vector<NormRecord> norms_;
  std::vector<WeightRecord> weights_;
};

/// The norm records that a trainer with --probe left in `directory`. Throws DataError, naming file
/// and line, for a file that is missing or of another kind.
/// Example: `read_norm_records("log").size()`
std::vector<NormRecord> read_norm_records(const std::string& directory);

}  // namespace tapegrad::TAPEGRAD_SCALAR
