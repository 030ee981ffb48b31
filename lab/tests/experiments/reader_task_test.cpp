#include "problems/stories.h"

#include <catch2/catch.hpp>
#include <set>

#include "experiments/matrix_task.h"
#include "experiments/paper.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::problems;
using namespace tapegrad::support;

namespace {

StorySets few_stories() {
  StorySets sets = draw_story_sets(1);
  sets.train.resize(200);
  sets.validation.resize(30);
  sets.test.resize(40);
  return sets;
}

MatrixTask reader(const StorySets& sets, const ReaderSizes& sizes = {}) {
  return task_of(ba2016().task("reader"), reader_problem(sets, sizes));
}

Outcome trained(const std::string& system) {
  const ReaderSizes small{
      .hidden = 8, .dropout = 0, .batch_size = 20, .steps = 4, .eval_interval = 2};
  return reader(few_stories(), small).train({{system, 1e-2}, {1}, true});
}

}  // namespace

TEST_CASE("errors of the reader are the mean over questions") {
  const Outcome outcome = trained("layer");
  CHECK(outcome.items.size() == 40);
  for (const double item : outcome.items) CHECK((item == 0 || item == 100));
  CHECK(outcome.values.at("test") == Approx(mean_of_items(outcome)));
  CHECK(outcome.values.at("validation") <= *outcome.curve.back().validation);
}

TEST_CASE("all systems of the reader train, and differ") {
  std::set<double> losses;
  const std::vector<std::string> systems{
      "none", "layer", "layer_small_gain", "layer_everywhere", "batch", "batch_everywhere"};
  for (const std::string& system : systems) losses.insert(trained(system).curve.back().training);
  CHECK(losses.size() == systems.size());
}

TEST_CASE("rules without a net have their accuracies") {
  const StorySets sets = few_stories();
  const auto baselines = reader(sets).baselines;
  const StoryBaselines accuracy(sets.test);
  CHECK(baselines.at("last_entity")().values.at("test") == Approx(100 - 100 * accuracy.last));
  CHECK(baselines.at("most_frequent_entity")().values.at("test") ==
        Approx(100 - 100 * accuracy.most_frequent));
}

TEST_CASE("a net that sees the question only does not see the words of passages") {
  const ReaderSizes small{
      .hidden = 8, .dropout = 0, .batch_size = 20, .steps = 60, .eval_interval = 20, .rate = 1e-2};
  StorySets sets = few_stories(), other = sets;
  for (std::vector<Story>* part : {&other.validation, &other.test})
    for (Story& story : *part)  // other words, the same entities
      for (std::string& word : story.passage)
        if (entity(word) < 0 && word != ".") word = "the";
  const auto baseline = [&](const StorySets& of) {
    return reader(of, small).baselines.at("question_only")().items;
  };
  const auto whole = [&](const StorySets& of) {
    return reader(of, small).train({{"none", 1e-2}, {1}, true}).items;
  };
  CHECK(baseline(other) == baseline(sets));
  CHECK(whole(other) != whole(sets));
}
