#include "experiments/float64/subjects.h"
#include "fault.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::lab::glm;
using namespace tapegrad::testing;

namespace {

Tensor with_a_bypass(Kind kind, const Tensor& p, const Tensor& x) {
  return natural(kind, p, x) + 0.1 * tanh(matmul(x, weights_of(p), {.b = true}));
}

const Faults faults(
    "spectra",
    +[](Report& report, const LinearModels& wrong) { measure_spectra(report, wrong, Random(1)); },
    std::vector<Fault<LinearModels>>{{"sums also pass beside the norm",
                                      {"The Fisher information has", "When all weight vectors"},
                                      {with_a_bypass}}});

}  // namespace
