#include "experiments/float64/subjects.h"
#include "fault.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::testing;

namespace {

Tensor not_centered(const Tensor& x, const NormFields& fields, const NormOptions& options) {
  return normalize(x, {.center = {}, .scale = fields.scale}, options);
}

Tensor with_epsilon(const Tensor& x, const NormFields& fields, NormOptions options) {
  options.epsilon += 1;
  return normalize(x, fields, options);
}

Tensor epsilon_outside(const Tensor& x, const NormFields& fields, NormOptions options) {
  options.place = Epsilon::outside_root;
  return normalize(x, fields, options);
}

Tensor by_the_matrix(const Tensor& v, const Tensor& gain) { return gain * v / norm(v); }

const Faults faults(
    "invariance",
    +[](Report& report, const Normalizations& wrong) {
      measure_invariance(report, wrong, Random(1));
    },
    std::vector<Fault<Normalizations>>{
        {"nothing is centered",
         {"Table 1", "A constant added", "Layer normalization loses", "Instance normalization"},
         {.normalize = not_centered}},
        {"epsilon is 1", {"Section 5.1"}, {.normalize = with_epsilon}},
        {"epsilon is outside the root", {"With epsilon"}, {.normalize = epsilon_outside}},
        {"weight normalization by the matrix",
         {"Weight normalization followed"},
         {.weight_norm = by_the_matrix}},
    });

}  // namespace
