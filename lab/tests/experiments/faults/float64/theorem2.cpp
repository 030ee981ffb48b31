#include "experiments/float64/subjects.h"
#include "fault.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::testing;

namespace {

Tensor with_epsilon(const Tensor& x) { return layer_norm(x, {.epsilon = 0.5}); }
Tensor not_centered(const Tensor& x) { return rms_norm(x, {.epsilon = 0}); }

const Faults faults(
    "theorem2",
    +[](Report& report, const NormalizedRows& wrong) {
      measure_theorem2(report, wrong, Random(1));
    },
    std::vector<Fault<NormalizedRows>>{
        {"the variance is not 1",
         {"Polynomials", "The rows must have five", "The second condition"},
         {with_epsilon}},
        {"the mean is not 0", {"Piecewise linear"}, {not_centered}},
    });

}  // namespace
