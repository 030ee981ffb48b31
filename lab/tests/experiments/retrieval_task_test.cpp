#include "problems/captions.h"

#include <catch2/catch.hpp>
#include <set>

#include "experiments/matrix_task.h"
#include "experiments/paper.h"
#include "experiments/recall.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::problems;
using namespace tapegrad::support;

namespace {

CaptionSets few_captions() {
  CaptionSets sets = draw_caption_sets(1);
  sets.train.resize(500);
  sets.validation.resize(20);
  sets.test.resize(30);
  return sets;
}

MatrixTask small(Index steps) {
  return task_of(ba2016().task("retrieval"),
                 retrieval_problem(few_captions(), {.words = 8,
                                                    .hidden = 16,
                                                    .batch_size = 50,
                                                    .steps = steps,
                                                    .eval_interval = steps / 2}));
}

}  // namespace

TEST_CASE("recalls follow from the ranks of captions, image by image") {
  const Outcome outcome = small(4).train({{"layer", 1e-2}, {1}, true});
  CHECK(outcome.traces.at("ranks").size() == 90);
  CHECK(outcome.items.size() == 30);
  CHECK(outcome.values.at("test") == Approx(outcome.values.at("test_image_recall_10")));
  for (const Index k : {1, 5, 10}) {
    const Results with_items = with_recall_items({"layer", {outcome}}, k);
    CHECK(mean_of_items(with_items.runs.front()) ==
          Approx(outcome.values.at(image_recall(k).value)));
  }
  CHECK(with_recall_items({"layer", {outcome}}, 10).runs.front().items == outcome.items);
  CHECK(outcome.traces.at("recall_5").size() == 2);
}

TEST_CASE("all systems learn to search, and differ") {
  std::set<double> found;
  for (const char* system : {"none", "layer", "symmetric", "bag_of_words"}) {
    const Outcome outcome = small(600).train({{system, 1e-2}, {1}, true});
    CHECK(outcome.values.at("test") > 80);                  // by chance 33
    CHECK(outcome.values.at("test_image_mean_rank") < 14);  // by chance 15.5
    found.insert(outcome.curve.back().training);
  }
  CHECK(found.size() == 4);
}

TEST_CASE("nothing is found by words that both languages share, if they share none") {
  const Outcome outcome = small(4).baselines.at("shared_words")();
  CHECK(outcome.values.at("test") == 0);  // ties count against a search
}
