#include "tapegrad/nn/layers/norms/internal/norms.h"

namespace tapegrad::TAPEGRAD_SCALAR::norms {

// Ba et al. 2016; the forms without gain and bias come from Xu et al. 2019, section 3.
struct Layer : NormMethod {
  bool over_channels = false;  // on images: over the channels of each position

  Layer() : NormMethod("layer") {
    const auto simple = [](bool mean, bool scale) {
      return NormSettings{.statistics = {.detach_mean = mean, .detach_scale = scale},
                          .affine = false};
    };
    presets = {{name, {}},
               {"layer_simple", simple(false, false)},
               {"detach", simple(true, true)},
               {"detach_mean", simple(true, false)},
               {"detach_variance", simple(false, true)}};
    takes_forms = true;
  }
  NormFields fields(const Shape& shape, Channels where) const override {
    const bool of_position = where == Channels::second && over_channels;
    return both({.axes = of_position ? std::vector{1} : axes_of_sample(shape, where)});
  }
  bool is_of_rows() const override { return true; }
  OptionSetters setters() override {
    return {{"over", choice_option(over_channels, {{"channels", true}, {"all", false}})}};
  }
};
std::unique_ptr<NormMethod> layer() { return std::make_unique<Layer>(); }

}  // namespace tapegrad::TAPEGRAD_SCALAR::norms
