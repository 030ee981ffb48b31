#include "experiments/float32/subjects.h"
#include "fault.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::testing;

namespace {

Tensor without_options(const Tensor& x, const std::string& name) {
  return NormsByName().normalize(x, name.substr(0, name.find(':')));
}

Tensor with_epsilon(const Tensor& x, const std::string& name) {
  return NormsByName().normalize(x, name) / (1 + stddev(x));
}

const Faults faults(
    "divisive",
    +[](Report& report, const NormsByName& wrong) { measure_family(report, wrong, Random(1)); },
    std::vector<Fault<NormsByName>>{
        {"the window is always the same", {"Divisive normalization"}, {without_options}},
        {"outputs depend on the size of the inputs", {"A smoothing term"}, {with_epsilon}},
    });

}  // namespace
