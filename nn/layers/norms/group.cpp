#include "tapegrad/nn/layers/norms/internal/norms.h"

namespace tapegrad::TAPEGRAD_SCALAR::norms {

// Wu and He 2018.
struct Group : NormMethod {
  Index groups = 2;

  Group() : NormMethod("group") { takes_forms = true; }
  NormFields fields(const Shape& shape, Channels where) const override {
    return both({.axes = axes_of_sample(shape, where), .groups = groups});
  }
  Index parts() const override { return groups; }
  OptionSetters setters() override { return {{"groups", count_option(groups)}}; }
};
std::unique_ptr<NormMethod> group() { return std::make_unique<Group>(); }

}  // namespace tapegrad::TAPEGRAD_SCALAR::norms
