#include "experiments/float64/subjects.h"
#include "fault.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::testing;

namespace {

const Faults faults(
    "dynamics",
    +[](Report& report, const RecurrentSystems& wrong) {
      measure_dynamics(report, wrong, 100, Random(1));
    },
    std::vector<Fault<RecurrentSystems>>{
        {"a plain net in the place of layer normalization",
         {"Without normalization the state", "So do the gradients", "Beyond the steps"},
         {.layer = "none"}},
        {"batch in the place of layer normalization",
         {"Batch normalization depends on the step", "Where a batch repeats one"},
         {.layer = "batch:steps=20"}},
    });

}  // namespace
