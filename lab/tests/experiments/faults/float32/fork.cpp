#include "experiments/float32/subjects.h"
#include "fault.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::testing;

namespace {

void without_moments(ForkState& state) {
  for (auto& moments : state.moments)
    for (Tensor& value : moments.values) value = zeros(value.shape());
}

void with_other_weights(ForkState& state) {
  for (Tensor& value : state.values) value = 1.001 * value;
}

std::vector<ForkArm> attached_after_all() {
  std::vector<ForkArm> arms = fork_arms();
  arms[2].norm = arms[0].norm;
  return arms;
}

const Faults faults(
    "fork", measure_fork,
    std::vector<Fault<Forks>>{
        {"the moments stay behind",
         {"A copy that keeps layer normalization"},
         {.carried = without_moments}},
        {"weights are 0.1 % too large", {"At the fork"}, {.carried = with_other_weights}},
        {"a copy keeps its norm", {"After some steps"}, {.arms = attached_after_all()}},
    });

}  // namespace
