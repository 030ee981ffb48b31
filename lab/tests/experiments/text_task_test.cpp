#include "problems/text.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "experiments/matrix_task.h"
#include "experiments/paper.h"
#include "support/grammar.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::problems;
using namespace tapegrad::support;

namespace {

Indices some_tokens(Index count, Index vocabulary) {
  Random random(3);
  std::vector<Index> ids;
  for (Index i = 0; i < count; ++i) ids.push_back(random.below(vocabulary));
  return Indices({count}, ids);
}

double total(const std::vector<double>& segments) {
  return std::accumulate(segments.begin(), segments.end(), 0.0);
}

TransformerXl small_net(Index vocabulary, Index memory) {
  Random random(1);
  return TransformerXl(vocabulary, random,
                       {.stack = {.layers = 2, .heads = 2, .channels = 8}, .memory = memory});
}

CharText drawn_text() {
  Random random(5);
  return CharText(grammar_text(200, random));
}

MatrixTask text_task(const CharText& text, const TextSizes& sizes) {
  return task_of(xu2019().task("enwik8"), text_problem("drawn", text, sizes));
}

const TextSizes small{.layers = 1,
                      .heads = 2,
                      .channels = 8,
                      .feed_forward = 16,
                      .length = 8,
                      .rows = 2,
                      .steps = 4,
                      .eval_interval = 2,
                      .watched = 100,
                      .long_memory = 16,
                      .warmup = 1};

}  // namespace

TEST_CASE("a uniform model costs log2 of the vocabulary for every token but the first") {
  const TransformerXl net = small_net(5, 8);
  Parameter(net.tokens.weight).set(zeros(net.tokens.weight.shape()));
  const Indices text = some_tokens(101, 5);
  for (const Index rows : {1, 3})
    for (const Index length : {1, 7, 64, 200}) {
      const std::vector<double> segments = segment_bits(net, text, rows, length);
      CHECK(std::ssize(segments) == (100 + length - 1) / length);
      CHECK(total(segments) == Approx(100 * std::log2(5.0)));
    }
}

TEST_CASE("bits do not depend on the segments if the memory covers all that is before") {
  const Indices text = some_tokens(41, 5);
  const double whole = total(segment_bits(small_net(5, 40), text, 1, 40));
  for (const Index length : {5, 8, 13})
    CHECK(total(segment_bits(small_net(5, 40), text, 1, length)) == Approx(whole).epsilon(1e-5));
  // A shorter memory gives other bits, so the memory is read.
  CHECK(total(segment_bits(small_net(5, 5), text, 1, 5)) != Approx(whole).epsilon(1e-5));
}

TEST_CASE("in training, each segment has the memory of those before") {
  const auto losses = [](Index length, Index steps) {
    TextSizes still = small;
    still.length = length;
    still.rows = 1;
    still.dropout = 0;
    still.steps = still.eval_interval = steps;
    std::vector<double> found;
    TaskTrial trial{{"layer", 1e-12}, {1}, false};
    trial.seen = [&](Index, double loss) { found.push_back(loss); };
    text_task(drawn_text(), still).train(trial);
    return found;
  };
  const std::vector<double> halves = losses(8, 2);
  CHECK((halves[0] + halves[1]) / 2 == Approx(losses(16, 1)[0]).epsilon(1e-6));
}

TEST_CASE("the last twentieth of a text is for the test, with either memory") {
  const CharText text = drawn_text();
  const MatrixTask task = text_task(text, small);
  const Outcome outcome = task.train({{"layer", 1e-2}, {1}, true});
  const Index targets = (text.rest.size() + 1) / 2 - 1;
  CHECK(std::ssize(outcome.items) == (targets + 7) / 8);
  CHECK(total(outcome.items) / static_cast<double>(outcome.items.size()) ==
        Approx(outcome.values.at("test")));
  CHECK(outcome.values.at("test_long") != outcome.values.at("test"));
  CHECK(outcome.curve.size() == 3);  // the first batch, and two intervals
  CHECK_FALSE(task.train({{"layer", 1e-2}, {1}, false}).values.contains("test"));
  CHECK(task.baselines.at("bigram")().values.at("test") <
        task.baselines.at("unigram")().values.at("test"));
}

TEST_CASE("a text that is learned costs less") {
  TextSizes longer = small;
  longer.steps = 60;
  longer.eval_interval = 30;
  const CharText text = drawn_text();
  const auto bits = [&](const TextSizes& options) {
    return text_task(text, options).train({{"layer_simple", 1e-2}, {1}, true}).values.at("test");
  };
  CHECK(bits(longer) < bits(small) - 0.3);
}
