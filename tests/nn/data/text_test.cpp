#include "tapegrad/nn/data/text.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "tapegrad/core/error.h"
#include "tapegrad/nn/data/sentences.h"

using namespace tapegrad;
using Catch::Contains;

namespace {

Indices counting(Index count) {
  Indices ids = Indices::uninitialized({count});
  for (Index i = 0; i < count; ++i) ids.mutable_data()[i] = i;
  return ids;
}

// A file for one test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& contents)
      : path_(std::filesystem::temp_directory_path() / "tapegrad_sentences") {
    std::ofstream(path_, std::ios::binary) << contents;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("characters of a text", "[text]") {
  const Characters characters("banana\n\xff");
  CHECK(characters.bytes() == "\nabn\xff");
  const Indices ids = characters.encode("nab\xff");
  CHECK(std::vector<Index>(ids.values().begin(), ids.values().end()) ==
        std::vector<Index>{3, 1, 2, 4});
  CHECK(characters.decode(ids) == "nab\xff");
  CHECK(characters.encode("").size() == 0);
  CHECK_THROWS_WITH(characters.encode("bac"), Contains("0x63") && Contains("position 2"));
  CHECK_THROWS_AS(characters.decode(Indices({1}, {5})), ShapeError);
  CHECK(Characters("").count() == 0);
}

TEST_CASE("a text is split in two", "[text]") {
  for (Index count = 0; count < 1000; ++count) {
    const TextSplit split = split_text(counting(count));
    CHECK(split.training.size() == count * 9 / 10);
    CHECK(split.validation.size() == count - count * 9 / 10);
  }
  const TextSplit half = split_text(counting(5), 0.5);
  CHECK(half.training.values().back() == 1);
  CHECK(half.validation.values().front() == 2);
  CHECK(half.validation.values().back() == 4);
  CHECK_THROWS_WITH(split_text(counting(5), 1), "split_text: share must lie in [0, 1): 1");
}

TEST_CASE("rows and streams of a text", "[text]") {
  const Indices ids = counting(25);
  Random random(1);
  const TextBatch rows = random_rows(ids, 200, 4, random);
  CHECK(rows.inputs.shape() == Shape{200, 4});
  Index least = 100, greatest = 0;
  for (Index i = 0; i < rows.inputs.size(); ++i) {
    CHECK(rows.targets.data()[i] == rows.inputs.data()[i] + 1);
    least = std::min(least, rows.inputs.data()[i]);
    greatest = std::max(greatest, rows.targets.data()[i]);
  }
  CHECK(least == 0);
  CHECK(greatest == 24);
  CHECK_THROWS_WITH(random_rows(counting(4), 1, 4, random), Contains("too few"));
  CHECK(random_rows(counting(5), 1, 4, random).inputs.data()[0] == 0);

  const TextStreams streams(ids, 2, 5);  // 24 targets: two streams of two blocks
  REQUIRE(streams.blocks() == 2);
  CHECK(streams.block(0).inputs.data()[0] == 0);
  CHECK(streams.block(0).inputs.data()[5] == 10);
  CHECK(streams.block(1).inputs.data()[0] == 5);
  CHECK(streams.block(1).targets.data()[9] == 20);
  CHECK_THROWS_WITH(TextStreams(ids, 5, 5), Contains("too few"));
}

TEST_CASE("blocks of a text have every token but the first as a target once", "[text]") {
  for (const Index count : {0, 1, 2, 5, 6, 24, 25, 100})
    for (const Index rows : {1, 3, 64}) {
      CAPTURE(count, rows);
      std::map<Index, int> seen;
      for (const auto& group : text_blocks(counting(count), rows, 5)) {
        Index expected = -1;
        for (const TextBatch& batch : group) {
          for (const Index target : batch.targets.values()) ++seen[target];
          // blocks of a group follow each other in each row
          if (expected >= 0) CHECK(batch.inputs.data()[0] == expected);
          expected = batch.targets.data()[batch.targets.shape()[1] - 1];
        }
      }
      CHECK(static_cast<Index>(seen.size()) == std::max<Index>(0, count - 1));
      for (const auto& [target, times] : seen) CHECK(times == 1);
    }
}

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
                    Contains("tapegrad_sentences") && Contains("line 2"));
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

TEST_CASE("rows and parts of a text lie within it", "[text]") {
  const Indices ids({5}, {0, 1, 2, 3, 4});
  CHECK(part(ids, 1, 5).values()[3] == 4);
  CHECK(part(ids, 5, 5).size() == 0);
  CHECK_THROWS_WITH(part(ids, 1, 6), "part: [1, 6) is not within 5 ids");
  CHECK_THROWS_AS(part(ids, -1, 2), ShapeError);
  CHECK_THROWS_AS(part(ids, 3, 2), ShapeError);
  CHECK_THROWS_AS(transposed(ids), ShapeError);
  CHECK(text_rows(ids, {0, 2}, 2).targets.values()[3] == 4);
  CHECK_THROWS_WITH(text_rows(ids, {3}, 2), Contains("does not begin at 3 of 5"));
  CHECK_THROWS_AS(text_rows(ids, {-1}, 2), ShapeError);
  CHECK_THROWS_AS(TextStreams(ids, 0, 2), ArgumentError);
  CHECK_THROWS_AS(TextStreams(ids, 1, 0), ArgumentError);
  CHECK_THROWS_AS(text_blocks(ids, 0, 2), ArgumentError);
  CHECK_THROWS_AS(text_blocks(ids, 2, 0), ArgumentError);
}
