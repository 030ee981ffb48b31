#include "tapegrad/io/sentences.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "support/scratch.h"
#include "tapegrad/core/error.h"

using namespace tapegrad;
using Catch::Contains;

namespace {

// A file for one test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& contents) {
    std::ofstream(path(), std::ios::binary) << contents;
  }
  std::filesystem::path path() const { return folder_ / "sentences.txt"; }

 private:
  testing::Scratch folder_;
};

}  // namespace

TEST_CASE("labelled sentences", "[text]") {
  const TemporaryFile file("1 a good\tfilm\r\n0  bad \xe9 film");
  const std::vector<Sentence> sentences = read_sentences(file.path());
  REQUIRE(sentences.size() == 2);
  CHECK(sentences[0].label == 1);
  CHECK(sentences[0].words == std::vector<std::string>{"a", "good", "film"});
  CHECK(sentences[1].words == std::vector<std::string>{"bad", "\xe9", "film"});
  for (const char* wrong : {"", "a b\n", "1\n", "-1 a\n", "1000 a\n", "1 a\n\n0 b\n", "1x a\n"}) {
    INFO(wrong);
    CHECK_THROWS_AS(read_sentences(TemporaryFile(wrong).path()), DataError);
  }
  CHECK_THROWS_WITH(read_sentences(TemporaryFile("1 a\nx b\n").path()),
                    Contains("sentences.txt") && Contains("line 2"));
}

TEST_CASE("a label without words is a sentence where that is allowed", "[text]") {
  const auto sentences = read_sentences(TemporaryFile("1 a\n0 \n2\n").path(), 0);
  REQUIRE(sentences.size() == 3);
  CHECK(sentences[1].label == 0);
  CHECK(sentences[1].words.empty());
  CHECK(sentences[2].label == 2);
  for (const char* wrong : {"", "\n", "1 a\n\n", "x\n"})
    CHECK_THROWS_AS(read_sentences(TemporaryFile(wrong).path(), 0), DataError);
  CHECK_THROWS_AS(read_sentences(TemporaryFile("1 a\n").path(), -1), ArgumentError);
}

TEST_CASE("sentences with ends", "[text]") {
  const Vocabulary vocabulary = Vocabulary::of({"a", "dog"});
  const auto [words, lengths, labels] = ended_batch(vocabulary, {{"a", "dog", "ran"}, {}, {"dog"}});
  CHECK(words.shape() == Shape{3, 4});
  CHECK(std::ranges::equal(words.values(), std::vector<Index>{2, 3, 1, 0, 0, 0, 0, 0, 3, 0, 0, 0}));
  CHECK(std::ranges::equal(lengths.values(), std::vector<Index>{4, 1, 2}));
  CHECK_FALSE(labels.defined());
}

TEST_CASE("the most frequent words", "[text]") {
  const std::map<std::string, Index> counts{{"dog", 3}, {"a", 5}, {"cat", 3}, {"once", 1}};
  using Words = std::vector<std::string>;
  CHECK(Vocabulary::most_frequent(counts, 2).words() == Words{"a", "cat"});
  CHECK(Vocabulary::most_frequent(counts, 9).words() == Words{"a", "cat", "dog", "once"});
  CHECK_THROWS_AS(Vocabulary::most_frequent(counts, 0), ArgumentError);
}

TEST_CASE("vocabulary and batches of sentences", "[text]") {
  std::vector<Sentence> sentences;
  for (Index i = 0; i < 30; ++i) {
    Sentence sentence{i % 3, {"all"}};
    for (Index w = 0; w < i % 7; ++w)
      sentence.words.push_back(std::string("w").append(std::to_string(w)));
    sentences.push_back(sentence);
  }
  sentences.push_back({0, {"once"}});
  const Vocabulary vocabulary(sentences, 2);
  CHECK(vocabulary.number("all") == 2);  // the most frequent
  CHECK(vocabulary.number("once") == 1);
  CHECK(vocabulary.number("never") == 1);
  CHECK(vocabulary.count() == 2 + 7);

  Random random(1);
  for (Random* order : {static_cast<Random*>(nullptr), &random}) {
    Index count = 0;
    for (const auto& [words, lengths, labels] :
         sentence_batches(sentences, vocabulary, 12, order)) {
      CHECK((words.size() <= 12 || words.shape()[0] == 1));
      count += words.shape()[0];
      for (Index b = 0; b < words.shape()[0]; ++b)
        for (Index t = 0; t < words.shape()[1]; ++t) {
          const bool inside = t < lengths.data()[b];
          CHECK((words.data()[b * words.shape()[1] + t] != 0) == inside);
        }
    }
    CHECK(count == 31);
  }
  CHECK(sentence_batches(sentences, vocabulary, 1).size() == 31);
  const auto once = sentence_batches(sentences, vocabulary, 12, &random);
  const auto again = sentence_batches(sentences, vocabulary, 12, &random);
  CHECK(once.size() == again.size());
  bool differs = false;
  for (std::size_t i = 0; i < once.size(); ++i)
    differs |= once[i].words.shape() != again[i].words.shape();
  CHECK(differs);
}

TEST_CASE("a vocabulary of counts, and one of another's words", "[text]") {
  const Vocabulary vocabulary(std::map<std::string, Index>{{"a", 3}, {"b", 5}, {"c", 2}}, 3);
  CHECK(vocabulary.words() == std::vector<std::string>{"b", "a"});
  CHECK(vocabulary.number("a") == 3);
  CHECK(vocabulary.number("c") == 1);
  const Vocabulary same = Vocabulary::of(vocabulary.words());
  CHECK(same.count() == vocabulary.count());
  CHECK(same.number("b") == 2);
  CHECK_THROWS_WITH(Vocabulary::of({"a", "b", "a"}), Contains("a word is there twice: a"));
  CHECK_THROWS_AS(Vocabulary(std::map<std::string, Index>{}, 0), ArgumentError);
}

TEST_CASE("the sentence sets are as published", "[text]") {
  const char* data = std::getenv("TAPEGRAD_DATA");
  if (data == nullptr) {
    WARN("skipped: TAPEGRAD_DATA is not set, no sentences were read");
    return;
  }
  const std::filesystem::path root(data);
  const auto count = [&](const char* file) { return read_sentences(root / file).size(); };
  CHECK(count("sst5/stsa.fine.train.gz") == 8544);
  CHECK(count("sst5/stsa.fine.dev.gz") == 1101);
  CHECK(count("sst5/stsa.fine.test.gz") == 2210);
  CHECK(count("sentence-classification/TREC.train.all.gz") == 5452);
  CHECK(count("sentence-classification/TREC.test.all.gz") == 500);
  CHECK(count("sentence-classification/rt-polarity.all.gz") == 10662);
}
