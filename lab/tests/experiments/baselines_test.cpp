#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "data/char_text.h"
#include "data/naive_bayes.h"
#include "data/ngrams.h"
#include "data/sentence_sets.h"
#include "tapegrad/core/error.h"
#include "tapegrad/io/file.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::support;

TEST_CASE("naive Bayes gives the probabilities of the textbook's example") {
  // Manning, Raghavan and Schuetze 2008, example 13.1: class 1 is about China.
  const std::vector<Sentence> documents{{1, words_of("Chinese Beijing Chinese")},
                                        {1, words_of("Chinese Chinese Shanghai")},
                                        {1, words_of("Chinese Macao")},
                                        {0, words_of("Tokyo Japan Chinese")}};
  const NaiveBayes bayes(documents, 2);
  const Sentence fifth{0, words_of("Chinese Chinese Chinese Tokyo Japan")};
  const std::vector<double> scores = bayes.scores(fifth);
  CHECK(std::exp(scores[1]) == Approx(3. / 4 * std::pow(3. / 7, 3) / 14 / 14));
  CHECK(std::exp(scores[0]) == Approx(1. / 4 * std::pow(2. / 9, 3) * 2 / 9 * 2 / 9));
  CHECK(bayes.classify(fifth) == 1);
  CHECK(bayes.classify({0, words_of("Tokyo Kyoto")}) == 0);  // it has not seen Kyoto
  CHECK(bayes.scores({0, words_of("Kyoto")}) == std::vector{std::log(0.25), std::log(0.75)});
  CHECK_THROWS_AS(NaiveBayes(documents, 1), ArgumentError);
}

TEST_CASE("the majority is the most frequent label") {
  CHECK(majority({{0, {}}, {2, {}}, {2, {}}, {1, {}}}) == 2);
  CHECK(majority({{1, {}}, {0, {}}}) == 0);
  CHECK_THROWS_AS(majority({}), ArgumentError);
}

TEST_CASE("bits of counts") {
  const Indices training({4}, {0, 1, 0, 1}), text({3}, {1, 1, 0});
  // With one more of each of three tokens: 3/7, 3/7, 1/7.
  CHECK(unigram_bits(training, text, 3) == Approx(-std::log2(3. / 7)));
  // After 1: one 0, so (0 + 1)/4 for 1 and (1 + 1)/4 for 0.
  CHECK(bigram_bits(training, text, 3) == Approx((2.0 + 1.0) / 2));
  CHECK_THROWS_AS(bigram_bits(training, text, 1), ShapeError);
  CHECK_THROWS_AS(unigram_bits(training, Indices({1}, {0}), 2), DataError);
}

TEST_CASE("baselines of the real data are those that were counted apart from this program") {
  const char* const data = std::getenv("TAPEGRAD_DATA");
  if (data == nullptr) {
    WARN("skipped: TAPEGRAD_DATA is not set, no sentences and no text were read");
    return;
  }
  const auto accuracy = [](const SentenceSets& sets) {
    const NaiveBayes bayes(sets.train, sets.classes);
    double right = 0;
    for (const Sentence& sentence : sets.test)
      right += bayes.classify(sentence) == sentence.label ? 100 : 0;
    return right / static_cast<double>(sets.test.size());
  };
  CHECK(accuracy(read_sentence_sets("sst5", data, 1000)) == Approx(100 * 887.0 / 2210));
  double rt = 0;
  for (std::uint64_t split = 1; split <= 10; ++split)
    rt += accuracy(read_rt(data, 1000, split)) / 10;
  CHECK(std::abs(rt - 77.2) < 1);  // other splits: 77.2 +- 1.1 each

  const CharText text(read_text(std::filesystem::path(data) / "enwik8/enwik8.first4000000.gz"));
  const Index symbols = text.characters.count();
  CHECK(unigram_bits(text.training, text.rest, symbols) == Approx(5.0893).epsilon(1e-4));
  CHECK(bigram_bits(text.training, text.rest, symbols) == Approx(3.9192).epsilon(1e-4));
}
