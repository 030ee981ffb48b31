#include "problems/parsing.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "experiments/matrix_task.h"
#include "experiments/paper.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::problems;
using namespace tapegrad::support;

namespace {

MatrixTask tree_task(const Treebank& bank, const ParserSizes& sizes) {
  return task_of(xu2019().task("ud_ewt"), parser_problem(bank, sizes));
}

}  // namespace

TEST_CASE("the items of sentences have the UAS as their mean, and what is learned raises it") {
  Treebank bank = draw_treebank(1);
  bank.train.resize(200);
  bank.validation.resize(30);
  bank.test.resize(40);
  const auto trained = [&](Index epochs) {
    return tree_task(bank, {.embedding = 8, .hidden = 32, .batch_size = 64, .epochs = epochs})
        .train({{"layer", 1e-2}, {1}, true});
  };
  const Outcome outcome = trained(3);
  REQUIRE(outcome.items.size() == 40);
  CHECK(std::accumulate(outcome.items.begin(), outcome.items.end(), 0.0) / 40 ==
        Approx(outcome.values.at("test")));
  CHECK(outcome.values.at("test_las") <= outcome.values.at("test"));
  CHECK(outcome.values.at("test") > 80);
  CHECK(outcome.curve.size() == 4);  // the first batch, and three epochs
  CHECK_FALSE(tree_task(bank, {.embedding = 8, .hidden = 8, .batch_size = 64, .epochs = 1})
                  .train({{"layer", 1e-2}, {1}, false})
                  .values.contains("test"));
}

TEST_CASE("a parser's baselines look at no words") {
  Treebank bank = draw_treebank(1);
  bank.train.resize(200);
  bank.validation.resize(30);
  // The second of three words is the root, the others depend on it.
  DependencyTree tree(3, {.form = "a", .upos = "X", .xpos = "unseen", .relation = "dep"});
  for (std::size_t i = 0; const Index head : {2, 0, 2}) tree[i++].head = head;
  bank.test = {tree};
  const auto test = [&](const char* baseline) {
    return tree_task(bank, {.embedding = 8, .hidden = 8, .batch_size = 64, .epochs = 1})
        .baselines.at(baseline)()
        .values.at("test");
  };
  CHECK(test("next_word") == Approx(100. / 3));
  CHECK(test("previous_word") == Approx(100. / 3));
  CHECK(test("commonest_distance") == Approx(100. / 3));  // as next_word, for tags never seen
}
