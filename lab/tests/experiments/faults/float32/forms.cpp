#include "experiments/float32/subjects.h"
#include "fault.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::testing;

namespace {

Tensor always_normalized(const Tensor& x, const std::string& name) {
  return NormsByName().normalize(x, name.substr(0, name.find(':')));
}

Tensor too_steep(const Tensor& x, const std::string& name) {
  return steep(NormsByName().normalize(x, name));
}

const Faults faults("forms", measure_forms,
                    std::vector<Fault<NormsByName>>{
                        {"the value is always normalized", {"The value"}, {always_normalized}},
                        {"gradients are 1 % too large", {"The gradient"}, {too_steep}},
                    });

}  // namespace
