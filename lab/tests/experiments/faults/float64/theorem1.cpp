#include "experiments/float64/subjects.h"
#include "fault.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::testing;

namespace {

Tensor steep_norm(const Tensor& x, const NormOptions& options) {
  return steep(layer_norm(x, options));
}

Tensor constant_scale(const Tensor& x, NormOptions options) {
  options.detach_scale = true;
  return layer_norm(x, options);
}

NormSpec never_centers(NormOptions options) {
  options.detach_mean = true;
  return LayerNorm().spec(options);
}

NormSpec never_scales(NormOptions options) {
  options.detach_scale = true;
  return LayerNorm().spec(options);
}

const Faults faults(
    "theorem1",
    +[](Report& report, const LayerNorm& wrong) { measure_theorem1(report, wrong, 20, 20, 1); },
    std::vector<Fault<LayerNorm>>{
        {"gradients are 1 % too large",
         {"The mean and the variance of dl/dx", "The variance is D / s^2"},
         {.operation = steep_norm}},
        {"the scale is constant", {"Two elements"}, {.operation = constant_scale}},
        {"the net detaches the mean", {"Re-centering"}, {.spec = never_centers}},
        {"the net detaches the scale", {"Re-scaling"}, {.spec = never_scales}},
    });

}  // namespace
