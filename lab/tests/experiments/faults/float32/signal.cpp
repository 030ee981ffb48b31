#include "experiments/float32/subjects.h"
#include "fault.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::testing;

namespace {

void other_values(const std::string&, const std::string& system, Outcome& outcome) {
  if (system == "detach_mean") outcome.curve.front().training *= 1.01;
}

void attached_after_all(const std::string&, const std::string& system, Outcome& outcome) {
  static double attached = 0;
  if (system == "layer_simple") attached = outcome.curve.back().training;
  if (system == "detach_variance") outcome.curve.back().training = attached;
}

void grown(const std::string&, const std::string& system, Outcome& outcome) {
  if (system == "detach+center+unit") outcome.traces.at("length").back().second *= 1.001;
}

void drifted(const std::string&, const std::string& system, Outcome& outcome) {
  if (system == "detach_mean+center") outcome.traces.at("weights").back().second += 0.01;
}

const Faults faults(
    "signal", measure_signal,
    std::vector<Fault<TrainingsOfPaper>>{
        {"a detached system has other values",
         {"Detached systems compute the values of layer_simple"},
         {other_values}},
        {"a detached system is attached", {"Their gradients differ"}, {attached_after_all}},
        {"a weight grows", {"With `unit`"}, {grown}},
        {"a weight drifts", {"With `center`"}, {drifted}},
    });

}  // namespace
