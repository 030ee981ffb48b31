#include "tapegrad/nn/layers/norms/internal/norms.h"

namespace tapegrad::TAPEGRAD_SCALAR::norms {

// Xu et al. 2019, section 4.
struct Ada : NormMethod {
  AdaOptions options;

  Ada() : NormMethod("ada") { presets = {{name, {.affine = false}}}; }
  Tensor compute(const Tensor& x, const Norm& norm, Index step, Mode mode) const override {
    return ada_scale(NormMethod::compute(x, norm, step, mode), options);
  }
  OptionSetters setters() override {
    return {{"c", number_option(options.factor)},
            {"k", number_option(options.slope)},
            {"detached", flag_option(options.detach_factor)}};
  }
};
std::unique_ptr<NormMethod> ada() { return std::make_unique<Ada>(); }

}  // namespace tapegrad::TAPEGRAD_SCALAR::norms
