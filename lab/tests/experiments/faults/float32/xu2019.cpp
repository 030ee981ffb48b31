#include "experiments/float32/subjects.h"
#include "fault.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::testing;

namespace {

void other_values(const std::string&, const std::string& norm, Outcome& outcome) {
  if (norm == "detach_mean") outcome.curve.front().training *= 1.01;
}

void attached_after_all(const std::string&, const std::string& norm, Outcome& outcome) {
  static double attached = 0;
  if (norm == "layer_simple") attached = outcome.curve.back().training;
  if (norm == "detach_variance") outcome.curve.back().training = attached;
}

void counted_wrongly(const std::string&, const std::string&, Outcome& outcome) {
  outcome.values["test"] *= 1 + 1.0 / static_cast<double>(outcome.items.size());
}

const Faults faults(
    "xu2019", measure_matrix,
    std::vector<Fault<TrainingsOfPaper>>{
        {"a detached system has other values",
         {"Detached systems compute the values of layer_simple"},
         {other_values}},
        {"a detached system is attached", {"Their gradients differ"}, {attached_after_all}},
        {"the counter of right answers is wrong",
         {"Test values are the means of their items"},
         {counted_wrongly}},
    });

}  // namespace
