#include "problems/skip_thoughts.h"

#include <catch2/catch.hpp>

#include "experiments/matrix_task.h"
#include "experiments/paper.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::problems;
using namespace tapegrad::support;

namespace {

TripletSets few_triplets() {
  TripletSets sets = draw_triplet_sets(1);
  sets.train.resize(300);
  sets.validation.resize(40);
  return sets;
}

Outcome trained(const std::string& system, Index steps, std::uint64_t seed = 1,
                bool tested = true) {
  const SkipThoughtsSizes small{.vocabulary = 60,
                                .words = 8,
                                .hidden = 12,
                                .batch_size = 20,
                                .steps = steps,
                                .eval_interval = 1,
                                .look = 2};
  return task_of(ba2016().task("skip_thoughts"),
                 skip_thoughts_problem(few_triplets(), draw_probe_sets(1), small))
      .train({{system, 1e-2}, {seed}, tested});
}

}  // namespace

TEST_CASE("the test of skip-thoughts is the mean of five probes") {
  const Outcome outcome = trained("layer", 4);
  for (const std::string state : {"test", "untrained"}) {
    const auto value = [&](const std::string& name) { return outcome.values.at(state + name); };
    CHECK(value("") == Approx((100 * value("_r") + value("_MR") + value("_CR") + value("_SUBJ") +
                               value("_MPQA")) /
                              5));
    CHECK(value("_MSE") > 0);
    CHECK(value("_MPQA_together") != value("_MPQA"));  // drawn stories have copies
    CHECK(std::abs(value("_rho")) <= 1);
  }
  CHECK(outcome.values.at("test") != outcome.values.at("untrained"));
  CHECK(outcome.values.at("validation") <= *outcome.curve.back().validation);
}

TEST_CASE("probes look at skip-thoughts before, in and at the end of their training") {
  const Outcome outcome = trained("layer", 6);
  const lab::RunTrace& looks = trace_of(outcome, "probed_MSE");
  REQUIRE(looks.size() == 4);
  for (Index i = 0; i < 4; ++i) CHECK(looks[static_cast<std::size_t>(i)].first == 2 * i);
  CHECK(looks.front().second == outcome.values.at("untrained_MSE"));
  REQUIRE(outcome.values.at("validation") == *outcome.curve.back().validation);
  CHECK(looks.back().second == outcome.values.at("test_MSE"));  // the best state is the last
  CHECK(looks[1].second == trace_of(trained("layer", 4), "probed_MSE")[1].second);
  CHECK(trained("layer", 2, 1, false).traces.empty());
  const TripletSets sets = few_triplets();
  CHECK(outcome.values.at("frequencies") ==
        frequency_nll(sets, Vocabulary::most_frequent(sets.counts, 60)));
}

TEST_CASE("before their training, systems depend on seed and norm, not on the steps") {
  const Outcome outcome = trained("none", 2);
  const auto untrained = [](const Outcome& of) { return of.values.at("untrained_MSE"); };
  CHECK(untrained(trained("none", 4)) == untrained(outcome));
  CHECK(untrained(trained("none", 2, 2)) != untrained(outcome));
  CHECK(untrained(trained("layer", 2)) != untrained(outcome));
}

TEST_CASE("skip-thoughts learn books") {
  const Outcome outcome = trained("layer", 60, 1, false);
  CHECK(outcome.values.at("validation") < 0.6 * outcome.curve.front().training);
}

TEST_CASE("words alone find what is a word") {
  const auto baselines = skip_thoughts_problem(few_triplets(), draw_probe_sets(1)).baselines;
  const Outcome outcome = baselines.at("words_alone")();
  for (const char* name : {"test_MR", "test_CR", "test_SUBJ", "test_MPQA"})
    CHECK(outcome.values.at(name) > 80);
}

TEST_CASE("drawn sets for probes have two classes of one size, and other seeds others") {
  const ProbeSets sets = draw_probe_sets(1);
  REQUIRE(sets.classified.size() == 4);
  for (const auto& [name, sentences] : sets.classified) {
    CHECK(sentences.size() == 32);
    CHECK(std::ranges::count(sentences, 1, &Sentence::label) == 16);
  }
  for (const auto* part : {&sets.train, &sets.validation, &sets.test})
    CHECK(std::ranges::count(*part, 5.0, &SentencePair::score) > 0);
  CHECK(sets.digest() == draw_probe_sets(1).digest());
  CHECK(sets.digest() != draw_probe_sets(2).digest());
  ProbeSets other = sets;
  other.classified[3].sentences[0].label = 1 - other.classified[3].sentences[0].label;
  CHECK(sets.digest() != other.digest());
  other = sets;  // a pair of the test set is trained on
  other.train.push_back(other.validation.front());
  other.validation.erase(other.validation.begin());
  CHECK(sets.digest() != other.digest());
}
