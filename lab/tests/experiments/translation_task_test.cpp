#include "problems/translation.h"

#include <catch2/catch.hpp>

#include "experiments/matrix_task.h"
#include "experiments/paper.h"
#include "experiments/verdict.h"
#include "support/golden_file.h"
#include "tapegrad/io/file.h"
#include "tapegrad/nn/metrics/bleu.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::problems;
using namespace tapegrad::support;

namespace {

TranslationSets few_pairs() {
  TranslationSets sets = draw_translation_sets(1);
  for (ParallelLines* lines : {&sets.train, &sets.validation, &sets.tests.front().lines}) {
    lines->source.resize(60);
    lines->target.resize(60);
  }
  sets.tests.push_back({"copied", {sets.train.target, sets.train.source}});
  return sets;
}

const TranslationSizes small{.stack = {.layers = 1, .heads = 2, .channels = 8},
                             .vocabulary = 60,
                             .batch_tokens = 256,
                             .epochs = 2,
                             .validations = 2,
                             .warmup = 2,
                             .beam = 1};

MatrixTask translation_task(const std::string& name, const TranslationSets& sets) {
  return task_of(xu2019().task(name), translation_problem(sets, small));
}

}  // namespace

TEST_CASE("a translation is judged by BLEU, and its states are chosen by the validation loss") {
  const Outcome outcome =
      translation_task("de_en", few_pairs()).train({{"layer", 1e-2}, {1}, true});
  CHECK(outcome.values.at("test") >= 0);
  CHECK(outcome.items.size() == 60);
  CHECK(outcome.values.contains("copied"));  // the second test set
  REQUIRE(outcome.curve.size() == 5);        // the first batch, and four halves of epochs
  double least = INFINITY;
  for (const CurvePoint& point : std::span(outcome.curve).subspan(1))
    least = std::min(least, *point.validation);
  CHECK(outcome.values.at("validation") == least);
}

TEST_CASE("shares of BLEU have its mean, and the interval of resampled sentences") {
  using Lines = std::vector<std::string>;
  const Json golden =
      *parse_json(read_text(testing::golden_file("../../../tests/golden/bleu.json")), 4);
  const auto shares = [&](const std::string& name) {
    const Json& corpus = golden.at("corpora").at(name);
    const Outcome outcome{.items = bleu_shares(corpus.at("translations").get<Lines>(),
                                               corpus.at("references").get<Lines>())};
    CHECK(mean_of_items(outcome) == Approx(corpus.at("bleu").get<double>()).epsilon(1e-12));
    return outcome.items;
  };
  const std::vector<double> pairs = shares("pairs");
  for (const auto& [name, half_width] : golden.at("half_widths").items()) {
    INFO(name);
    std::vector<double> differences = shares(name);
    std::transform(pairs.begin(), pairs.end(), differences.begin(), differences.begin(),
                   std::minus<>());
    CHECK(bootstrap_half_width(differences) ==
          Approx(half_width.get<double>()).epsilon(0.05));  // of few sentences
  }
  CHECK(bleu_shares({}, {}).empty());
  CHECK(bleu_shares({"a small dog barks"}, {"a small dog barks"}).at(0) == Approx(100));
  CHECK_THROWS_AS(bleu_shares({"a"}, {}), ArgumentError);
}

TEST_CASE("the nearest source of a pair that has been seen is its own") {
  TranslationSets sets = few_pairs();
  const double unseen =
      translation_task("de_en", sets).baselines.at("nearest_source")().values.at("test");
  sets.tests.front().lines = sets.train;
  const MatrixTask seen = translation_task("de_en", sets);
  CHECK(seen.baselines.at("nearest_source")().values.at("test") == Approx(100));
  CHECK(unseen < 90);
  CHECK(seen.baselines.at("source_copied")().values.at("test") < 50);
}

TEST_CASE("from English to German the systems come from table 2, with the detached variance") {
  CHECK(translation_task("en_de", few_pairs()).systems ==
        std::vector<std::string>{"none", "layer_simple", "detach", "detach_variance"});
}
