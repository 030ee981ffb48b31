#pragma once

#include <vector>

#include "tapegrad/nn/fields.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The values of a net's parameters and buffers at one time, such as after its best validation.
///
///     if (loss < best_loss) best.emplace(fields(net));
///     ...
///     best->swap();  // the net has its best weights, `best` the weights of the last step
/// Example: `NetState before(fields(net)); before.swap()`
class NetState {
 public:
  /// Takes the values that the net has now.
  explicit NetState(Fields net);

  /// Exchanges these values and the values in the net.
  void swap();
  /// The values of the parameters, then of the buffers: what a checkpoint keeps.
  const std::vector<Tensor>& values() const { return values_; }
  /// Throws ShapeError for values of other shapes.
  /// Example: `NetState state(fields(net)); state.restore(state.values());`
  void restore(std::vector<Tensor> values);

 private:
  Fields net_;
  std::vector<Tensor> values_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
