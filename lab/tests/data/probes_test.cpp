#include "data/probes.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "data/probe_classifier.h"
#include "support/golden_file.h"
#include "support/scratch.h"
#include "tapegrad/core/error.h"
#include "tapegrad/io/file.h"
#include "tapegrad/nn/metrics.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"

using namespace tapegrad;
using namespace tapegrad::support;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

void write(const std::filesystem::path& path, const std::string& text) {
  write_file(path, std::as_bytes(std::span(text)));
}

const std::string heading = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tlabel\n";

// Sentences of one word, a number, of which a vector is made.
Sentence numbered(Index label, Index number) { return {label, {std::to_string(number)}}; }

// Vectors of five random numbers, by the number that a sentence is.
Tensor random_vectors(const std::vector<Words>& sentences) {
  std::vector<Tensor> rows;
  for (const Words& words : sentences) rows.push_back(Random(std::stoull(words.at(0))).normal({5}));
  return stack(rows);
}

double share(const Indices& guesses, const Indices& labels) {
  return static_cast<double>(count_equal(guesses, labels)) / static_cast<double>(labels.size());
}

}  // namespace

TEST_CASE("logistic regression is scikit-learn's") {
  std::ifstream file(testing::golden_file("logistic.json"));
  const auto golden = nlohmann::json::parse(file);
  std::vector<real> values;
  for (const auto& row : golden.at("x"))
    for (const auto& value : row) values.push_back(value.get<real>());
  const auto labels = golden.at("labels").get<std::vector<Index>>();
  const auto count = std::ssize(labels);
  CHECK(golden.at("fits").size() == 5);
  for (const auto& fit : golden.at("fits")) {
    const double c = fit.at("c").get<double>();
    INFO("C = " << c);
    for (const Tensor& start : {Tensor(), ones({6})}) {
      const LogisticRegression found(Tensor({count, 5}, values), Indices({count}, labels), c,
                                     start);
      CHECK(found.residual() < 1e-6);
      const auto near = [](double expected) { return Approx(expected).epsilon(1e-4).margin(1e-4); };
      for (Index i = 0; i < 5; ++i)
        CHECK(found.solution().data()[i] ==
              near(fit.at("weight").at(static_cast<std::size_t>(i)).get<double>()));
      CHECK(found.solution().data()[5] == near(fit.at("bias").get<double>()));
    }
  }
}

TEST_CASE("logistic regression refuses what does not fit") {
  const Tensor x = ones({2, 3});
  CHECK_THROWS_AS(LogisticRegression(x, Indices({3}, {0, 1, 0}), 1), ShapeError);
  CHECK_THROWS_AS(LogisticRegression(x, Indices({2}, {0, 2}), 1), ArgumentError);
  CHECK_THROWS_AS(LogisticRegression(x, Indices({2}, {0, 1}), 0), ArgumentError);
  CHECK_THROWS_AS(make_folds(5, 1, Random(1)), ArgumentError);
  CHECK_THROWS_AS(make_folds(5, 6, Random(1)), ArgumentError);
}

TEST_CASE("features are scaled by the examples that are known") {
  const Tensor x({3, 2}, {1, 4, 2, 4, 3, 4});
  const Tensor scaled = Scaler(x)(Tensor({1, 2}, {4, 5}));
  CHECK(scaled.data()[0] == Approx(2 / std::sqrt(2.0 / 3)));
  CHECK(scaled.data()[1] == 1);  // there it was constant
}

TEST_CASE("folds are a partition") {
  for (const Index count : {10, 23, 100}) {
    std::set<Index> seen;
    for (const Fold& fold : make_folds(count, 10, Random(1))) {
      CHECK(fold.train.size() + fold.test.size() == count);
      CHECK(fold.test.size() >= count / 10);
      CHECK(fold.test.size() <= count / 10 + 1);
      std::set<Index> all(fold.train.values().begin(), fold.train.values().end());
      all.insert(fold.test.values().begin(), fold.test.values().end());
      CHECK(std::ssize(all) == count);
      seen.insert(fold.test.values().begin(), fold.test.values().end());
    }
    CHECK(std::ssize(seen) == count);
  }
}

TEST_CASE("folds of groups are a partition in which no group is divided") {
  const Indices groups({12}, {0, 1, 2, 0, 3, 4, 1, 1, 5, 2, 6, 0});
  std::set<Index> seen;
  for (const Fold& fold : make_folds_of_groups(groups, 3, Random(1))) {
    CHECK(fold.train.size() + fold.test.size() == groups.size());
    for (const Index tested : fold.test.values()) {
      CHECK(seen.insert(tested).second);
      for (const Index known : fold.train.values())
        CHECK(groups.data()[tested] != groups.data()[known]);
    }
  }
  CHECK(std::ssize(seen) == groups.size());
  CHECK_THROWS_AS(make_folds_of_groups(groups, 8, Random(1)), ArgumentError);
}

TEST_CASE("a label that is linear in the vector is found, a random one is not") {
  constexpr Index count = 3000, features = 8;
  Random random(1);
  Tensor x = random.normal({count, features});
  Indices linear = Indices::uninitialized({count}), drawn = Indices::uninitialized({count});
  for (Index i = 0; i < count; ++i) {
    real* row = x.mutable_data() + i * features;
    linear.mutable_data()[i] = row[0] > row[3];
    row[0] += static_cast<real>(row[0] > row[3] ? 0.5 : -0.5);  // a gap between the classes
    drawn.mutable_data()[i] = random.below(2);
  }
  const std::vector<Fold> folds = make_folds(count, 10, Random(2));
  CHECK(share(cross_validated(folds, logistic_guess(x, linear)), linear) == 1);
  CHECK(share(cross_validated(folds, logistic_guess(x, drawn)), drawn) == Approx(0.5).margin(0.03));
}

TEST_CASE("what is guessed of an example depends on no other test example") {
  Random random(3);
  const Index count = 60, features = 4;
  const Tensor x = random.normal({count, features});
  Indices labels = Indices::uninitialized({count});
  for (Index i = 0; i < count; ++i) labels.mutable_data()[i] = random.below(2);
  const Fold fold = make_folds(count, 3, Random(4)).front();
  const Indices before = logistic_guess(x, labels)(fold.train, fold.test);
  Tensor other = x + 0;
  Indices turned = Indices(labels.shape(), labels.values());
  for (const Index i : fold.test.values().subspan(1)) {
    for (Index k = 0; k < features; ++k) other.mutable_data()[i * features + k] = 1e4;
    turned.mutable_data()[i] = 1 - turned.data()[i];
  }
  CHECK(logistic_guess(other, turned)(fold.train, fold.test).data()[0] == before.data()[0]);
  CHECK(std::ranges::equal(logistic_guess(x, turned)(fold.train, fold.test).values(),
                           before.values()));
}

TEST_CASE("a soft label has the score as its mean") {
  using Weights = std::vector<double>;
  CHECK(soft_label(1) == Weights{1, 0, 0, 0, 0});
  CHECK(soft_label(4.5) == Weights{0, 0, 0, 0.5, 0.5});
  CHECK(soft_label(5) == Weights{0, 0, 0, 0, 1});
}

TEST_CASE("relatedness that the vectors show is found") {
  ProbeSets sets;
  Random random(5);
  const auto draw = [&](Index count, bool shown) {
    std::vector<SentencePair> pairs;
    for (Index i = 0; i < count; ++i) {
      const Index a = random.below(1000), b = random.below(1000);
      const Tensor both = random_vectors({{std::to_string(a)}, {std::to_string(b)}});
      const double distance = std::abs(both.data()[0] - both.data()[5]);
      const double score = shown ? std::max(1.0, 5 - 2 * distance) : 1.0 + random.below(5);
      pairs.push_back({{std::to_string(a)}, {std::to_string(b)}, score});
    }
    return pairs;
  };
  for (const bool shown : {true, false}) {
    for (auto* part : {&sets.train, &sets.validation, &sets.test}) *part = draw(400, shown);
    const Relatedness found = probe_relatedness(sets, random_vectors);
    CHECK(found.guesses.size() == 400);
    if (shown) {
      CHECK(found.pearson > 0.9);
      CHECK(found.spearman > 0.9);
      CHECK(found.mean_squared_error < 0.5);
    } else {
      CHECK(std::abs(found.pearson) < 0.2);
    }
  }
}

TEST_CASE("classes that the vectors show are found") {
  ClassifiedSentences set{"signs", {}};
  for (Index i = 0; i < 300; ++i)
    set.sentences.push_back(numbered(random_vectors({{std::to_string(i)}}).data()[2] > 0, i));
  const Classification found = probe_classes(set, random_vectors);
  CHECK(found.name == "signs");
  CHECK(found.right.size() == 300);
  CHECK(found.accuracy() > 0.95);
}

TEST_CASE("what is only learned by heart is not found once copies are together") {
  ClassifiedSentences set{"coins", {}};
  Random random(5);
  for (Index i = 0; i < 12; ++i) {
    const Index label = random.below(2);
    for (Index copy = 0; copy < 8; ++copy) set.sentences.push_back(numbered(label, i));
  }
  const double together = probe_classes(set, random_vectors, Copies::together).accuracy();
  CHECK(together < 0.6);
  CHECK(probe_classes(set, random_vectors).accuracy() > together + 0.2);
}

TEST_CASE("the baselines of probes") {
  ProbeSets sets;
  for (auto* part : {&sets.train, &sets.validation, &sets.test})
    *part = {{{"a", "dog"}, {"a", "dog"}, 5},
             {{"a", "dog"}, {"two", "cats"}, 1},
             {{"a", "dog"}, {"a", "cat"}, 2.25},
             {{}, {}, 1}};
  ClassifiedSentences films{"films", {}};
  for (Index i = 0; i < 50; ++i) {
    films.sentences.push_back({i % 2, {i % 2 == 0 ? "bad" : "good", "film"}});
    films.sentences.push_back({1, {}});
  }
  sets.classified = {films};
  const ProbeResults majority = majority_baseline(sets);
  CHECK(majority.classified[0].accuracy() == 0.75);
  CHECK(majority.relatedness->mean_squared_error ==
        Approx((2.6875 * 2.6875 + 2 * 1.3125 * 1.3125 + 0.0625 * 0.0625) / 4));
  CHECK(std::isnan(majority.relatedness->pearson));
  CHECK(naive_bayes_baseline(sets).classified[0].accuracy() == 1);
  const Vocabulary vocabulary = Vocabulary::of({"film"});
  CHECK(naive_bayes_baseline(sets, &vocabulary).classified[0].accuracy() == 0.75);
  const ProbeResults overlap = overlap_baseline(sets);  // 1, 0, 1/3 and, without words, 0
  CHECK(overlap.classified.empty());
  CHECK(overlap.relatedness->pearson > 0.99);
  CHECK_THAT(probe_heading(sets), Contains("rho") && Contains("films"));
  CHECK_THAT(probe_line(majority), Contains("      -") && Contains("75.0"));
}

TEST_CASE("the mean of words knows no order") {
  Random random(6);
  const Vocabulary vocabulary = Vocabulary::of({"a", "dog"});
  const SkipThoughts net(vocabulary.count(), random, {.words = 3, .hidden = 4});
  const Tensor found = mean_of_words(net, vocabulary)({{"a", "dog"}, {"dog", "a"}, {}});
  CHECK(found.shape() == Shape{3, 3});
  for (Index k = 0; k < 3; ++k) {
    const double a = net.words.weight.value().data()[2 * 3 + k],
                 dog = net.words.weight.value().data()[3 * 3 + k];
    CHECK(found.data()[k] == Approx((a + dog) / 2));
    CHECK(found.data()[3 + k] == Approx(found.data()[k]));
    CHECK(found.data()[6 + k] == 0);
  }
}

TEST_CASE("pairs and their scores are read") {
  const Scratch folder;
  write(folder / "pairs", heading + "1\tA dog, old\tIt ran.\t4.5\tNEUTRAL\r\n2\ta\tb\t1\tX\n");
  const std::vector<SentencePair> pairs = read_pairs(folder / "pairs");
  REQUIRE(pairs.size() == 2);
  CHECK(pairs[0].first == Words{"a", "dog", ",", "old"});
  CHECK(pairs[0].second == Words{"it", "ran", "."});
  CHECK(pairs[0].score == 4.5);
  for (const auto& [line, message] : std::vector<std::pair<std::string, std::string>>{
           {"1\ta\tb\t3", "line 2 does not have 5 columns"},
           {"1\ta\tb\t3\tX\tY", "line 2 does not have 5 columns"},
           {"", "line 2 does not have 5 columns"},
           {"1\ta\tb\t0.5\tX", "line 2: it is not a score from 1 to 5: 0.5"},
           {"1\ta\tb\t5.5\tX", "line 2: it is not a score from 1 to 5"},
           {"1\ta\tb\tnan\tX", "line 2: it is not a score from 1 to 5"},
           {"1\ta\tb\t3x\tX", "line 2: it is not a score from 1 to 5"}}) {
    write(folder / "pairs", heading + line + "\n");
    CHECK_THROWS_WITH(read_pairs(folder / "pairs"), Contains(message) && Contains("pairs"));
  }
  write(folder / "pairs", heading);
  CHECK_THROWS_WITH(read_pairs(folder / "pairs"), Contains("it has no pairs"));
}

TEST_CASE("sets for probes have two classes, and labels without words") {
  const Scratch folder;
  for (const char* part : {"train", "trial", "test_annotated"})
    write(folder / ("SICK_" + std::string(part) + ".txt"), heading + "1\ta\tb\t3\tX\n");
  for (const char* name : {"rt-polarity", "custrev", "subj", "mpqa"})
    write(folder / (std::string(name) + ".all"), "0 A film\n1 \n");
  const ProbeSets sets = read_probe_sets((folder / "").string());
  CHECK(sets.test.size() == 1);
  REQUIRE(sets.classified.size() == 4);
  CHECK(sets.classified[2].name == "SUBJ");
  CHECK(sets.classified[2].sentences[0].words == Words{"a", "film"});
  CHECK(sets.classified[2].sentences[1].words.empty());
  write(folder / "subj.all", "0 a\n2 b\n");
  CHECK_THROWS_WITH(read_probe_sets((folder / "").string()),
                    Contains("subj.all: line 2 has the label 2"));
}

TEST_CASE("the sets for probes have the published counts and baselines") {
  const char* data = std::getenv("TAPEGRAD_DATA");
  if (data == nullptr) return;
  const ProbeSets sets = read_probe_sets(data);
  CHECK(sets.train.size() == 4500);
  CHECK(sets.validation.size() == 500);
  CHECK(sets.test.size() == 4927);
  const ProbeResults majority = majority_baseline(sets), bayes = naive_bayes_baseline(sets);
  const std::vector<std::size_t> counts{10662, 3775, 10000, 10606};
  const std::vector<double> frequent{0.5, 0.638, 0.5, 0.688}, words{0.781, 0.798, 0.925, 0.852};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(sets.classified[i].sentences.size() == counts[i]);
    CHECK(majority.classified[i].accuracy() == Approx(frequent[i]).margin(5e-4));
    CHECK(bayes.classified[i].accuracy() == Approx(words[i]).margin(0.01));
  }
  CHECK(majority.relatedness->mean_squared_error == Approx(1.018).margin(1e-3));
  const auto [guesses, r, rho, error] = *overlap_baseline(sets).relatedness;
  CHECK(r == Approx(0.580).margin(1e-3));
  CHECK(rho == Approx(0.575).margin(5e-3));
  CHECK(error == Approx(0.676).margin(1e-3));
}
