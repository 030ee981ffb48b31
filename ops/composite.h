#pragma once

#include "tapegrad/core/scoped.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// While in scope, fused operations on this thread compute their definitions, or their kernels if
/// `readable` is false.
/// Example: `const Composite readable; layer_norm(x)`
class Composite {
 public:
  explicit Composite(bool readable = true);
  static bool active();

 private:
  Scoped<bool> readable_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
