#include "problems/sentences.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <set>

#include "experiments/matrix_task.h"
#include "experiments/paper.h"
#include "support/files.h"
#include "support/scratch.h"
#include "tapegrad/core/error.h"
#include "tapegrad/io/file.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::problems;
using namespace tapegrad::support;

namespace {

/// The file of RT with as many sentences as the real one, in which each has a word of its own.
void write_rt(const std::filesystem::path& folder) {
  std::string text;
  for (int i = 0; i < 10662; ++i) text += fmt::format("{} the word{}\n", i % 2, i);
  write_file(folder / "rt-polarity.all", std::as_bytes(std::span(text)));
}

std::set<std::string> own_words(const std::vector<Sentence>& sentences) {
  std::set<std::string> words;
  for (const Sentence& sentence : sentences) words.insert(sentence.words.back());
  return words;
}

const SentenceSizes small{
    .net = {.layers = 1, .heads = 2, .channels = 8, .hidden = 8}, .batch_tokens = 64, .epochs = 2};

MatrixTask sentence_task(const std::string& name, const SentenceSets& sets) {
  return task_of(xu2019().task(name), sentence_problem(sets, small));
}

SentenceSets drawn(std::uint64_t seed = 1) {
  SentenceSets sets = draw_sentence_sets(seed);
  sets.train.resize(100);
  sets.validation.resize(40);
  sets.test.resize(50);
  return sets;
}

}  // namespace

TEST_CASE("RT is split as in the paper, and no sentence is in two parts") {
  const testing::Scratch folder;
  write_rt(folder.path);
  const SentenceSets sets = read_sentence_sets("rt", folder.path, 10);
  CHECK(sets.train.size() == 8608);
  CHECK(sets.validation.size() == 964);
  CHECK(sets.test.size() == 1090);  // one more than in the paper, whose parts lack a sentence
  std::set<std::string> all = own_words(sets.train);
  all.merge(own_words(sets.validation));
  all.merge(own_words(sets.test));
  CHECK(all.size() == 10662);
  CHECK(read_rt(folder.path, 10, 1).digest() == sets.digest());
  CHECK(read_rt(folder.path, 10, 2).digest() != sets.digest());
  CHECK(read_rt(folder.path, 10, 2).test_digest() != sets.test_digest());
}

// Some 10 KB as they are stored.
TEST_CASE("few bytes of labelled sentences do not fill the memory", "[memory]") {
  const testing::Scratch folder;
  testing::write_repeated(folder / "TREC.test.all.gz", "0 a\n", testing::mebibyte);
  const testing::PeakMemory peak;
  for (const std::size_t size : {4 * testing::mebibyte, 8 * testing::mebibyte}) {
    testing::write_repeated(folder / "TREC.train.all.gz", "0 a\n", size);
    try {
      const auto sets = std::make_shared<SentenceSets>(read_sentence_sets("trec", folder.path, 64));
      Random random(1);
      CHECK(SentenceTrainee(sets, small.net, 64, 1, random).per_epoch() > 0);
    } catch (const DataError& error) {
      CHECK_THAT(error.what(), testing::too_much_of(folder / "TREC.train.all.gz"));
    }
  }
  if (const auto bytes = peak.bytes()) CHECK(*bytes < 300 * testing::mebibyte);
}

TEST_CASE("accuracy is the mean of the answers") {
  const Outcome outcome = sentence_task("rt", drawn()).train({{"layer", 1e-2}, {1}, true});
  REQUIRE(outcome.items.size() == 50);
  CHECK(std::accumulate(outcome.items.begin(), outcome.items.end(), 0.0) / 50 ==
        Approx(outcome.values.at("test")));
  for (const double item : outcome.items) CHECK((item == 0 || item == 100));
  CHECK(outcome.curve.size() == 3);  // the first batch, and two epochs
  CHECK(outcome.curve.back().validation);
}

TEST_CASE("words of the validation and the test are unknown to the net") {
  SentenceSets sets = drawn();
  const MatrixTask before = sentence_task("rt", sets);
  for (std::vector<Sentence>* part : {&sets.validation, &sets.test})
    for (Sentence& sentence : *part)
      for (std::string& word : sentence.words) word = "unknown" + word;
  SentenceSets blank = sets;
  for (std::vector<Sentence>* part : {&blank.validation, &blank.test})
    for (Sentence& sentence : *part)
      for (std::string& word : sentence.words) word = "?";
  const auto answers = [](const SentenceSets& of) {
    return sentence_task("rt", of).train({{"layer", 1e-2}, {1}, true}).items;
  };
  CHECK(answers(sets) == answers(blank));  // all words are the same to it
}

TEST_CASE("each seed has a split of its own, and none has sentence_problem's") {
  const auto sets = [](std::uint64_t split) { return drawn(split); };
  const MatrixTask task = task_of(xu2019().task("rt_splits"), split_problem(sets, small));
  CHECK(task.data == sentence_task("rt_splits", sets(1)).data);
  for (const std::uint64_t seed : {1U, 3U}) {
    const TaskTrial trial{{"layer", 1e-2}, {seed}, true};
    CHECK(task.train(trial).curve == sentence_task("rt_splits", sets(1 + seed)).train(trial).curve);
  }
  double share = 0;
  for (const std::uint64_t split : {2U, 3U, 4U, 5U, 6U})
    share +=
        sentence_task("rt_splits", sets(split)).baselines.at("naive_bayes")().values.at("test");
  CHECK(task.baselines.at("naive_bayes")().values.at("test") == Approx(share / 5));
}

TEST_CASE("from shuffled labels nothing is learned") {
  SentenceSets sets = draw_sentence_sets(1);
  for (std::size_t i = 0; i < sets.train.size(); ++i)
    sets.train[i].label = static_cast<Index>(i) % 2;
  const MatrixTask task = sentence_task("rt", sets);
  const double share = task.baselines.at("naive_bayes")().values.at("test");
  CHECK(std::abs(share - 50) < 5);  // three standard deviations of 1,000 fair coins
  CHECK(std::abs(task.baselines.at("majority")().values.at("test") - 50) < 5);
}
