#include "experiments/float32/subjects.h"
#include "fault.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::testing;

namespace {

using OfBa = TrainingsOfBa;

void counted_wrongly(const std::string&, const std::string&, Outcome& outcome) {
  outcome.values["test"] *= 1 + 1.0 / static_cast<double>(outcome.items.size());
}

void counts_one_more_rank(const std::string& task, const std::string&, Outcome& outcome) {
  if (task == "retrieval") outcome.values["test_image_recall_5"] += 0.1;
}

void forgets_the_divergence(const std::string& task, const std::string&, Outcome& outcome) {
  if (task == "draw") outcome.values["test_divergence"] = 0;
}

// The right logits without the norm.
double floor_without_norm(const Indices& labels) {
  return cross_entropy(one_hot(labels, 10), labels).item();
}

const Faults faults("ba2016", measure_ba2016,
                    std::vector<Fault<OfBa>>{
                        {"the counter of right answers is wrong",
                         {"Test values are the means of their items"},
                         {.change = counted_wrongly}},
                        {"recalls belong to another number of ranks",
                         {"Recalls of images follow from the ranks"},
                         {.change = counts_one_more_rank}},
                        {"the bound has a part that is not counted",
                         {"A bound is the sum of its two parts"},
                         {.change = forgets_the_divergence}},
                        {"the logits are not normalized",
                         {"Batch normalization of the logits bounds the training loss"},
                         {.floor = floor_without_norm}},
                    });

}  // namespace
