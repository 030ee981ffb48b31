#include "tapegrad/nn/layers/norms/internal/norms.h"

namespace tapegrad::TAPEGRAD_SCALAR::norms {

// Zhang and Sennrich 2019, with the smoothing of LLaMA.
struct Rms : NormMethod {
  double share = 1;  // of the entries, for the root mean square

  Rms() : NormMethod("rms") {
    presets = {{name, {.statistics = {.epsilon = 1e-6}, .bias = false}}};
    takes_forms = true;
  }
  NormFields fields(const Shape& shape, Channels where) const override {
    return {.center = {}, .scale = {.axes = axes_of_sample(shape, where), .share = share}};
  }
  bool is_of_rows() const override { return share == 1; }
  void expect_possible(const NormOptions&) const override {
    expect<ArgumentError>(share > 0 && share <= 1, "norm: share must lie in (0, 1]: {}", share);
  }
  OptionSetters setters() override { return {{"p", number_option(share)}}; }
};
std::unique_ptr<NormMethod> rms() { return std::make_unique<Rms>(); }

}  // namespace tapegrad::TAPEGRAD_SCALAR::norms
