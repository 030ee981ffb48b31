#include "experiments/float32/subjects.h"
#include "fault.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::testing;

namespace {

void other_values(const std::string&, const std::string& system, Outcome& outcome) {
  if (system == "detach:factor=1") outcome.curve.front().training *= 1.01;
}

void true_gradient_after_all(const std::string&, const std::string& system, Outcome& outcome) {
  static double of_none = 0;
  if (system == "none") of_none = outcome.curve.back().training;
  if (system == "layer_simple:forward=identity") outcome.curve.back().training = of_none;
}

const Faults faults("factorial", measure_factorial,
                    std::vector<Fault<TrainingsOfPaper>>{
                        {"a form has other values", {"Before training"}, {other_values}},
                        {"a form has the gradient of no norm",
                         {"Each of them is trained"},
                         {true_gradient_after_all}},
                    });

}  // namespace
