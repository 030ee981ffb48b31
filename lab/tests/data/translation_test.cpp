#include "problems/translation.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "data/translation_sets.h"
#include "tapegrad/core/error.h"
#include "tapegrad/nn/functions/loss.h"
#include "tapegrad/nn/metrics/bleu.h"
#include "tapegrad/nn/optimizers/optimizer.h"
#include "tapegrad/ops/grad.h"

using namespace tapegrad;
using namespace tapegrad::problems;
using namespace tapegrad::support;
using Catch::Contains;

namespace {

// A few pairs of the drawn languages, and what belongs to them.
struct Small {
  ParallelLines lines;
  Subwords subwords;
  EncodedPairs pairs;

  explicit Small(Index count)
      : lines(first(count)), subwords(Subwords::learn(both(lines), 100)), pairs(lines, subwords) {}

  static ParallelLines first(Index count) {
    ParallelLines lines = draw_translation_sets(1).train;
    lines.source.resize(static_cast<std::size_t>(count));
    lines.target.resize(static_cast<std::size_t>(count));
    return lines;
  }
  static std::vector<std::string> both(const ParallelLines& lines) {
    std::vector<std::string> all = lines.source;
    all.insert(all.end(), lines.target.begin(), lines.target.end());
    return all;
  }
  Translator net() const {
    Random random(2);
    return Translator(subwords.count(), random,
                      {.stack = {.layers = 2, .heads = 2, .channels = 32, .feed_forward = 64},
                       .positions = Positions::sinusoidal});
  }
};

}  // namespace

TEST_CASE("the drawn source has other words, and its main verb last") {
  CHECK(in_drawn_language("the dogs run.") == "vji fuht sap.");
  CHECK(in_drawn_language("the dog that the cat sees likes my birds.") ==
        "vji fuh vjev vji dev tiit nz cosft molit.");
  const TranslationSets sets = draw_translation_sets(1);
  std::set<std::string> seen;
  for (const ParallelLines* each : {&sets.train, &sets.validation, &sets.tests[0].lines})
    seen.insert(each->target.begin(), each->target.end());
  CHECK(std::ssize(seen) ==
        sets.train.count() + sets.validation.count() + sets.tests[0].lines.count());
  CHECK(sets.digest() == draw_translation_sets(1).digest());
  CHECK(sets.digest() != draw_translation_sets(2).digest());
}

TEST_CASE("batches of pairs have what the decoder reads and what it writes") {
  const Small small(50);
  std::size_t seen = 0;
  for (const PairBatch& batch : pair_batches(small.pairs, 100)) {
    const Index steps = batch.inputs.shape()[1], source_steps = batch.source.shape()[1];
    CHECK(batch.rows() * std::max(steps, source_steps) <= 100);
    CHECK(batch.targets.shape() == batch.inputs.shape());
    Index tokens = 0;
    for (Index row = 0; row < batch.rows(); ++row, ++seen) {
      const Index* input = batch.inputs.data() + row * steps;
      const Index* target = batch.targets.data() + row * steps;
      const Index length = std::find(target, target + steps, Subwords::end) - target;
      REQUIRE(length < steps);
      CHECK(input[0] == Subwords::begin);
      CHECK(std::equal(target, target + length, input + 1));
      CHECK(std::all_of(target + length + 1, target + steps,
                        [](Index id) { return id == Subwords::pad; }));
      const Index* source = batch.source.data() + row * source_steps;
      CHECK(source[batch.lengths.data()[row] - 1] == Subwords::end);
      CHECK(std::count(source, source + source_steps, Subwords::pad) ==
            source_steps - batch.lengths.data()[row]);
      tokens += length + 1;
    }
    CHECK(batch.tokens() == tokens);
  }
  CHECK(seen == 50);
}

TEST_CASE("the loss is a mean over subwords, however they are batched") {
  const Small small(40);
  const Translator net = small.net();
  Cluster cluster;
  const auto loss = [&](Index tokens, double smoothing) {
    return translation_loss(net, pair_batches(small.pairs, tokens), smoothing, cluster);
  };
  CHECK(loss(1, 0.1) == Approx(loss(1000, 0.1)).epsilon(1e-5));
  CHECK(loss(1, 0.1) != Approx(loss(1, 0)).epsilon(1e-3));
  const PairBatch all = pair_batches(small.pairs, 100'000).front();
  const Tensor nll = cross_entropy(net(all.source, all.lengths, all.inputs), all.targets,
                                   {.ignore_index = Subwords::pad, .reduction = Reduction::sum});
  CHECK(loss(1, 0) == Approx(nll.item() / static_cast<double>(all.tokens())).epsilon(1e-5));
}

TEST_CASE("32 pairs are learnt by heart, and translated in any order") {
  const Small small(32);
  const Translator net = small.net();
  const PairBatch batch = pair_batches(small.pairs, 100'000).front();
  Adam adam(parameters(net), {.learning_rate = 3e-3});
  for (int step = 0; step < 250; ++step) {
    Tape tape;
    adam.step(grad(translation_loss(net, batch, 0.1), adam.parameters()));
  }
  Cluster cluster;
  for (const Index width : {1, 5})
    CHECK(translation_bleu(net, small.subwords, small.lines, width, cluster) > 95);
  Cluster three({.shards = 3});
  CHECK(translation_bleu(net, small.subwords, small.lines, 1, three) ==
        translation_bleu(net, small.subwords, small.lines, 1, cluster));

  std::vector<std::string> lines = small.lines.source;
  lines.insert(lines.begin() + 3, "");
  const std::vector<std::string> found = translate(net, small.subwords, lines, 2);
  CHECK(found[3].empty());
  std::reverse(lines.begin(), lines.end());
  std::vector<std::string> reversed = translate(net, small.subwords, lines, 2);
  std::reverse(reversed.begin(), reversed.end());
  CHECK(reversed == found);

  const HeatMap map = attention_map(net, small.subwords, small.lines.source[0], found[0]);
  CHECK(map.rows.back() == "</s>");
  CHECK(map.columns.back() == "</s>");
  for (const auto& row : map.values) {
    double sum = 0;
    for (const double value : row) sum += value;
    CHECK(sum == Approx(100).epsilon(1e-4));
  }
}
