#include "experiments/float64/subjects.h"
#include "fault.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::lab::glm;
using namespace tapegrad::testing;

namespace {

Tensor steep_model(Kind kind, const Tensor& p, const Tensor& x) {
  return steep(natural(kind, p, x));
}

Tensor saturating_inputs(Kind kind, const Tensor& p, const Tensor& x) {
  return natural(kind, p, tanh(x));
}

// The model with another deviation.
template <class Deviation>
Tensor with(Kind kind, const Tensor& p, const Tensor& x, const Deviation& deviation) {
  const Tensor a = matmul(x, weights_of(p), {.b = true});
  const auto [mu, sigma] = statistics(kind, weights_of(p), a);
  return gain_of(p) * ((a - mu) / deviation(sigma)) + bias_of(p);
}

Tensor with_epsilon(Kind kind, const Tensor& p, const Tensor& x) {
  return with(kind, p, x, [](const Tensor& sigma) { return sigma + 0.1; });
}

Tensor detached_scale(Kind kind, const Tensor& p, const Tensor& x) {
  return with(kind, p, x, [](const Tensor& sigma) { return detach(sigma); });
}

const Faults faults(
    "geometry",
    +[](Report& report, const LinearModels& wrong) {
      measure_geometry(report, wrong, 3, Random(1));
    },
    std::vector<Fault<LinearModels>>{
        {"gradients are 1 % too large",
         {"Eq. 12:", "Eq. 8-9", "Eq. 13-14", "Eq. 33 and 34", "Eq. 32"},
         {steep_model}},
        {"the inputs saturate", {"Eq. 35"}, {saturating_inputs}},
        {"the deviation has an epsilon",
         {"The implicit reduction", "Moving along w", "A larger |w|"},
         {with_epsilon}},
        {"the scale is detached", {"\"Implicit early stopping\""}, {detached_scale}},
    });

}  // namespace
