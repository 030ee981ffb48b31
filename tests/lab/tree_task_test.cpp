#include "lab/tree_task.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::support;

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
