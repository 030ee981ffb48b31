#include "tapegrad/nn/layers/norms/internal/norms.h"

namespace tapegrad::TAPEGRAD_SCALAR::norms {

// Over the positions of each channel (Ulyanov et al. 2016).
struct Instance : NormMethod {
  Instance() : NormMethod("instance") { needs_positions = takes_forms = true; }
  NormFields fields(const Shape& shape, Channels) const override {
    return both({.axes = axes_from(2, shape.rank())});
  }
  Tensor compute(const Tensor& x, const Norm& norm, Index step, Mode mode) const override {
    expect_several_values(*this, x.shape(), x.shape()[0] * x.shape()[1],
                          "normalize more than one position of it (layer, group)");
    return NormMethod::compute(x, norm, step, mode);
  }
};
std::unique_ptr<NormMethod> instance() { return std::make_unique<Instance>(); }

}  // namespace tapegrad::TAPEGRAD_SCALAR::norms
