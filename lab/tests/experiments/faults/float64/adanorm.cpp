#include "experiments/float64/subjects.h"
#include "fault.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::testing;

namespace {

Tensor steeper(const Tensor& y, AdaOptions options) {
  options.slope *= 1.01;
  return ada_scale(y, options);
}

Tensor attached(const Tensor& y, AdaOptions options) {
  options.detach_factor = false;
  return ada_scale(y, options);
}

Tensor ten_times(const Tensor& x) { return 10.0 * layer_norm(x, {.epsilon = 0}); }

const Faults faults(
    "adanorm",
    +[](Report& report, const AdaNorm& wrong) { measure_adanorm(report, wrong, Random(1)); },
    std::vector<Fault<AdaNorm>>{
        {"the factor falls faster",
         {"The factor's mean is C", "The factor cannot turn negative"},
         {.scale = steeper}},
        {"values are ten times as large", {"Chebyshev's bound"}, {.normalize = ten_times}},
        {"the factor is not detached", {"AdaNorm passes back"}, {.scale = attached}},
    });

}  // namespace
