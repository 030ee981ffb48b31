#pragma once

#include <vector>

#include "tapegrad/core/parameter.h"
#include "tapegrad/nn/fields.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// An exponential moving average of parameters, for evaluation: it is less noisy than the
/// parameters (Polyak and Juditsky 1992; decay as in Szegedy et al. 2016). Update t, counted from
/// 0, has the decay min(decay, (1 + t) / (10 + t)), so that the values at the start, which are
/// random, soon have no part in it. Of a net, its buffers are averaged as well: the running
/// statistics of batch norm and whitening then belong to the averaged weights.
/// Example: `Ema average(fields(net), 0.99); average.update(); average.swap()`
class Ema {
 public:
  /// Starts from the current values. Throws ArgumentError for a decay outside [0, 1), and for
  /// parameters that are undefined or listed twice.
  explicit Ema(std::vector<Parameter> parameters, double decay = 0.999);
  /// Averages all parameters and buffers of a net.
  explicit Ema(const Fields& net, double decay = 0.999);

  /// average = decay average + (1 - decay) value. Call it after each step of the optimizer.
  void update();
  /// Swaps the values and the averages: once to evaluate, once more to resume training.
  void swap();
  /// One value for each parameter, then one for each buffer. With `updates`, this is the state that
  /// a checkpoint keeps.
  const std::vector<Tensor>& values() const { return values_; }
  /// How many there have been.
  Index updates() const { return updates_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::vector<Buffer>& buffers() const { return buffers_; }
  /// Throws ShapeError for values of other shapes. Without `updates`, their number stays.
  /// Example: `Ema average(parameters(net)); average.restore(average.values());`
  void restore(std::vector<Tensor> values);
  void restore(std::vector<Tensor> values, Index updates);

 private:
  std::vector<Parameter> parameters_;
  std::vector<Buffer> buffers_;
  double decay_;
  std::vector<Tensor> values_;
  Index updates_ = 0;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
