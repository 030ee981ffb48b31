#include <catch2/catch.hpp>
#include <cstdlib>
#include <numeric>
#include <set>

#include "problems/stories.h"
#include "support/scratch.h"
#include "tapegrad/core/error.h"
#include "tapegrad/io/file.h"

using namespace tapegrad;
using namespace tapegrad::problems;
using namespace tapegrad::support;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

using Words = std::vector<std::string>;

std::filesystem::path written(const Scratch& folder, const std::string& text) {
  write_file(folder / "stories", std::as_bytes(std::span(text)));
  return folder / "stories";
}

std::string joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

const std::string two_stories =
    "1 Bill gave the milk to Fred.\n"
    "2 Who gave the milk? \tBill\t1\n"
    "3 Jeff went to the garden.\n"
    "4 Who received the milk?\tFred\t1\n"
    "1 Mary got the apple there.\r\n"
    "2 Where is Mary? \n";

}  // namespace

TEST_CASE("questions are read with what precedes them in their text") {
  const Scratch folder;
  std::vector<bool> begins;
  const auto stories = read_stories(written(folder, two_stories), {.sentences = 0}, &begins);
  REQUIRE(stories.size() == 3);
  CHECK(joined(stories[0].passage) == "bill gave the milk to fred .");
  CHECK(joined(stories[0].question) == "who gave the milk ?");
  CHECK(stories[0].answer == "bill");
  CHECK(joined(stories[1].passage) == "bill gave the milk to fred . jeff went to the garden .");
  CHECK(joined(stories[2].passage) == "mary got the apple there .");
  CHECK(stories[2].answer.empty());
  CHECK(begins == std::vector<bool>{true, false, true});
  const auto last = read_stories(folder / "stories", {.sentences = 1});
  CHECK(joined(last[1].passage) == "jeff went to the garden .");
  const auto few = read_stories(folder / "stories", {.sentences = 0, .words = 12});
  CHECK(joined(few[1].passage) == "jeff went to the garden .");  // whole sentences
}

TEST_CASE("damaged stories are refused by line") {
  const Scratch folder;
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"1 A.\nBill went.\n", "line 2: it does not begin with a number"},
           {"0 A.\n", "line 1: it does not begin with a number"},
           {"99999999999999999999 A.\n", "line 1: it does not begin with a number"},
           {"1 \n", "line 1: it has no words"},
           {"1\n", "line 1: it has no words"},
           {"1 A.\tBill\n", "line 1: an answer does not follow a question"},
           {"1 A.\n2 Who?\ttable\n", "line 2: the answer is not a person, thing or place: table"},
           {"1 A.\n2 Who?\tBill Fred\n", "line 2: the answer is not a person"},
           {"1 Who?\tBill\n", "line 1: a question without a text"},
           {"1 A.\n", "it has no questions"},
           {"", "it has no questions"}}) {
    CHECK_THROWS_WITH(read_stories(written(folder, text), {}), Contains(message));
    CHECK_THROWS_WITH(read_stories(folder / "stories", {}), Contains("stories: "));
  }
  CHECK_THROWS_WITH(read_stories(written(folder, "1 Bill and Jeff.\n2 Fred?\n"), {.entities = 2}),
                    Contains("line 2: 3 persons, things and places"));
}

TEST_CASE("drawn stories have one answer, which must be read") {
  const StorySets sets = draw_story_sets(1);
  for (const Story& story : sets.test) {
    CHECK(std::ranges::count(story.passage, ".") == 4);
    CHECK(std::ranges::count(story.passage, story.answer) >= 1);
    CHECK(std::ranges::count(story.question, story.answer) == 0);
    CHECK(entities_of(story.passage).size() <= 10);
  }
  const StoryBaselines baselines(sets.test);
  CHECK(baselines.uniform < 0.3);
  CHECK(baselines.last < 0.7);
  CHECK(baselines.most_frequent < 0.7);
  CHECK(sets.digest() != draw_story_sets(2).digest());
  CHECK(sets.test_digest() != draw_story_sets(2).test_digest());
}

TEST_CASE("entities have numbers of their own in each story and each time") {
  const std::vector<Story> stories = draw_story_sets(1).validation;
  const StoryVocabulary vocabulary(stories, 10);
  CHECK(vocabulary.number("bill") == vocabulary.number("unheard"));  // names are no words
  Random random(2);
  std::set<std::vector<Index>> seen;
  for (int i = 0; i < 20; ++i) {
    const NumberedStory numbered(stories[0], vocabulary, random);
    seen.insert(numbered.passage);
    CHECK(numbered.answer < 10);
    CHECK(entity_names()[numbered.entities[numbered.answer]] == stories[0].answer);
    for (std::size_t w = 0; w < stories[0].passage.size(); ++w) {
      const Index found = entity(stories[0].passage[w]), number = numbered.passage[w];
      CHECK((found >= 0) == (number < 10));
      if (found >= 0) CHECK(numbered.entities[number] == found);
    }
  }
  CHECK(seen.size() == 20);
  CHECK_THROWS_AS(NumberedStory(stories[0], StoryVocabulary(stories, 3), random), ArgumentError);
}

TEST_CASE("no number of an entity is the answer more often than another") {
  const std::vector<Story> stories = draw_story_sets(1).train;
  const StoryVocabulary vocabulary(stories, 10);
  Random random(3);
  std::vector<Index> counts(10, 0);
  for (const StoryBatch& batch : story_batches(stories, vocabulary, 64, random, true))
    for (const Index answer : batch.answers.values()) ++counts[answer];
  for (const Index count : counts) CHECK(count == Approx(400).margin(80));  // four deviations
}

TEST_CASE("batches have passages of one length and every story once") {
  std::vector<Story> stories = draw_story_sets(1).validation;
  for (std::size_t i = 0; i < stories.size(); ++i)
    stories[i].passage.resize(stories[i].passage.size() - i % 5);  // drawn ones have one length
  const StoryVocabulary vocabulary(stories, 10);
  Random random(4);
  const auto batches = story_batches(stories, vocabulary, 64, random, true);
  Index rows = 0;
  std::multiset<Index> lengths, expected;
  for (const StoryBatch& batch : batches) {
    CHECK(batch.rows() <= 64);
    rows += batch.rows();
    for (Index i = 0; i < batch.rows(); ++i) lengths.insert(batch.passages.shape()[1]);
    const StoryBatch part = batch.part(0, 1);
    CHECK(part.rows() == 1);
    CHECK(part.answers.data()[0] == batch.answers.data()[0]);
  }
  for (const Story& story : stories) expected.insert(std::ssize(story.passage));
  CHECK(rows == 500);
  CHECK(lengths == expected);
  CHECK(story_batches(stories, vocabulary, 64, random, true).size() == batches.size());
}

TEST_CASE("a story shows where the net looks") {
  const Story story{
      {"bill", "gave", "milk", ".", "fred", "went", "."}, {"who", "gave", "?"}, "bill"};
  const StoryVocabulary vocabulary({story}, 10);
  Random random(5);
  const AttentiveReader net(vocabulary.count(), 10, random, {.hidden = 4});
  ReadStory read(net, vocabulary, story);
  CHECK(read.attention.size() == 7);
  CHECK(std::accumulate(read.attention.begin(), read.attention.end(), 0.0) == Approx(1));
  read.attention = {0.5, 0, 0.3, 0, 0, 0.2, 0};
  read.answer = "fred";
  read.probability = 0.75;
  CHECK(as_text(read) ==
        "bill[50 %] gave milk[30 %] .\n"
        "fred went[20 %] .\n"
        "  who gave ? -> fred (75 %); right: bill\n");
  const std::string image = as_svg({read});
  CHECK_THAT(image, Contains("<svg") && Contains("went") && Contains("who gave ?"));
}

TEST_CASE("bAbI has the published counts") {
  const char* data = std::getenv("TAPEGRAD_DATA");
  if (data == nullptr) return;
  for (const Index task : {5, 1}) {
    const StorySets sets = read_story_sets(data, task, {.entities = 10});
    const StoryBaselines baselines(sets.test);
    const bool gives = task == 5;
    CHECK(sets.train.size() + sets.validation.size() == (gives ? 9672 : 7825));
    CHECK(sets.validation.size() == (gives ? 969 : 782));
    CHECK(sets.test.size() == (gives ? 955 : 774));
    CHECK(baselines.uniform == Approx(gives ? 0.189 : 0.168).margin(5e-4));
    CHECK(baselines.last == Approx(gives ? 0.448 : 0.497).margin(5e-4));
    CHECK(baselines.most_frequent == Approx(gives ? 0.623 : 0.349).margin(5e-4));
  }
}

TEST_CASE("a small file of stories does not fill the memory") {
  const Scratch folder;
  std::string text = "1";
  for (int i = 0; i < 200; ++i) text += " a";
  text += ".\n";
  for (int i = 0; i < 45000; ++i) text += "2 a?\n";  // each is asked of the passage again
  CHECK_THROWS_WITH(read_stories(written(folder, text), {.sentences = 0}),
                    Contains("stories: its " + std::to_string(text.size()) + " bytes would take") &&
                        Contains("divide it into several files"));
}
