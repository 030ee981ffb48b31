#pragma once

#include <vector>

#include "tapegrad/core/parameter.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// An exponential moving average of parameters, for evaluation: it is less noisy than the
/// parameters (Polyak and Juditsky 1992; decay as in Szegedy et al. 2016).
/// Example: `Ema average(parameters(net), 0.99); average.update(); average.swap()`
class Ema {
 public:
  /// Starts from the current values. Throws ArgumentError for a decay outside [0, 1), and for
  /// parameters that are undefined or listed twice.
  explicit Ema(std::vector<Parameter> parameters, double decay = 0.999);

  /// average = decay average + (1 - decay) parameter. Call it after each step of the optimizer.
  void update();
  /// Swaps the parameters' values and the averages: once to evaluate, once more to resume training.
  void swap();
  /// One value for each parameter: the state that a checkpoint keeps.
  const std::vector<Tensor>& values() const { return values_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// Throws ShapeError for values of other shapes.
  /// Example: `Ema average(parameters(net)); average.restore(average.values());`
  void restore(std::vector<Tensor> values);

 private:
  std::vector<Parameter> parameters_;
  double decay_;
  std::vector<Tensor> values_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
