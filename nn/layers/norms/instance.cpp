#include "tapegrad/nn/layers/norms/internal/norms.h"

namespace tapegrad::TAPEGRAD_SCALAR::norms {

// Over the positions of each channel (Ulyanov et al. 2016).
struct Instance : NormMethod {
  Instance() : NormMethod("instance") { needs_positions = takes_forms = true; }
  NormFields fields(const Shape& shape, Channels) const override {
    return both({.axes = axes_from(2, shape.rank())});
  }
};
std::unique_ptr<NormMethod> instance() { return std::make_unique<Instance>(); }

}  // namespace tapegrad::TAPEGRAD_SCALAR::norms
