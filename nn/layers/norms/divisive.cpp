#include "tapegrad/nn/layers/norms/internal/norms.h"

namespace tapegrad::TAPEGRAD_SCALAR::norms {

// Ren et al. 2017: along the channels, or on images over all channels of near positions.
struct Divisive : NormMethod {
  Index radius = 0;  // 0: 8 along the channels, 2 on images

  Divisive() : NormMethod("divisive") { takes_forms = true; }
  NormFields fields(const Shape& shape, Channels where) const override {
    if (where != Channels::second) return both({.window = {-1}, .radius = radius > 0 ? radius : 8});
    return both(
        {.axes = {1}, .window = axes_from(2, shape.rank()), .radius = radius > 0 ? radius : 2});
  }
  void expect_possible(const NormOptions& statistics) const override {
    expect<ArgumentError>(statistics.variance == Variance::biased,
                          "norm: the variance over a window must be biased: unbiased is 1");
  }
  OptionSetters setters() override { return {{"radius", count_option(radius)}}; }
};
std::unique_ptr<NormMethod> divisive() { return std::make_unique<Divisive>(); }

}  // namespace tapegrad::TAPEGRAD_SCALAR::norms
