#include "tapegrad/nn/layers/norms/internal/norms.h"

namespace tapegrad::TAPEGRAD_SCALAR::norms {

struct Unchanged : NormMethod {
  Unchanged(const char* called, bool of_weights) : NormMethod(called) {
    presets = {{name, {.normalized_weights = of_weights}}};
    normalizes = false;
  }
  Tensor compute(const Tensor& x, const Norm&, Index, Mode) const override { return x; }
};
std::unique_ptr<NormMethod> none() { return std::make_unique<Unchanged>("none", false); }
std::unique_ptr<NormMethod> weight() { return std::make_unique<Unchanged>("weight", true); }

}  // namespace tapegrad::TAPEGRAD_SCALAR::norms
