#include "data/stories.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "data/books.h"
#include "data/plain_text.h"
#include "support/data_files.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/io/lines.h"
#include "tapegrad/io/sentences.h"
#include "tapegrad/train/resume.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

constexpr Index persons = 7, things = 3;  // the first of the entities

// A line of a file: its number within the text, and the rest, in fields.
struct StoryLine {
  Index number;
  std::string_view text, answer;
  bool is_question;

  StoryLine(std::string_view line, const std::string& place) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    const auto [end, error] = std::from_chars(line.data(), line.data() + blank, number);
    expect<DataError>(error == std::errc() && end == line.data() + blank && number >= 1,
                      "{}: it does not begin with a number from 1 on: {}", place,
                      beginning(std::string(line)));
    line.remove_prefix(blank);
    const std::size_t tab = line.find('\t');
    text = line.substr(0, tab);
    const std::size_t last = text.find_last_not_of(" \r");
    is_question = last != std::string_view::npos && text[last] == '?';
    expect<DataError>(last != std::string_view::npos, "{}: it has no words", place);
    expect<DataError>(is_question || tab == std::string_view::npos,
                      "{}: an answer does not follow a question", place);
    if (tab != std::string_view::npos)
      answer = line.substr(tab + 1, line.find('\t', tab + 1) - tab - 1);
  }
};

// What is read of the sentences before a question.
Words passage_of(const std::vector<Words>& sentences, const PassageLimits& limits) {
  Index words = 0;
  std::size_t first = sentences.size();
  const auto fits = [&](const Words& sentence) {
    const Index count = sentences.size() - first;
    return (limits.sentences == 0 || count < limits.sentences) &&
           words + std::ssize(sentence) <= limits.words;
  };
  while (first > 0 && fits(sentences[first - 1])) words += std::ssize(sentences[--first]);
  Words passage;
  for (; first < sentences.size(); ++first)
    passage.insert(passage.end(), sentences[first].begin(), sentences[first].end());
  return passage;
}

// The sentences of a passage: as many as it has full stops.
Index sentences_of(const Story& story) { return std::ranges::count(story.passage, "."); }

bool can_be_answered(const Story& story, const PassageLimits& limits) {
  return sentences_of(story) >= limits.sentences &&
         std::ranges::find(story.passage, story.answer) != story.passage.end();
}

// ---- Drawn stories ----

struct Gift {
  std::string giver, thing, receiver;
};

const std::string& name(Index entity) { return entity_names()[entity]; }

// A question about a gift, and its answer.
std::pair<std::string, std::string> asked(const Gift& gift, Random& random) {
  switch (random.below(4)) {
    case 0:
      return {fmt::format("who gave the {} ?", gift.thing), gift.giver};
    case 1:
      return {fmt::format("who received the {} ?", gift.thing), gift.receiver};
    case 2:
      return {fmt::format("who did {} give the {} to ?", gift.giver, gift.thing), gift.receiver};
    default:
      return {fmt::format("what did {} give to {} ?", gift.giver, gift.receiver), gift.thing};
  }
}

Story draw_story(Random& random) {
  const Indices people = random.permutation(persons), objects = random.permutation(things);
  const auto person = [&](Index i) { return name(people.data()[i]); };
  const auto place = [&] {
    const auto places = std::ssize(entity_names()) - persons - things;
    return name(persons + things + random.below(places));
  };
  const auto thing = [&](Index i) { return name(persons + objects.data()[i]); };
  // One person takes part in both gifts, so that a question's names alone do not find the answer.
  const std::array gifts{Gift{person(0), thing(0), person(1)},
                         random.below(2) == 0 ? Gift{person(2), thing(1), person(0)}
                                              : Gift{person(1), thing(1), person(0)}};
  std::vector<std::string> sentences;
  for (const auto& [giver, object, receiver] : gifts)
    sentences.push_back(fmt::format("{} gave the {} to {} .", giver, object, receiver));
  for (int i = 0; i < 2; ++i)
    sentences.push_back(fmt::format("{} went to the {} .", person(random.below(4)), place()));
  const auto [question, answer] = asked(gifts[random.below(2)], random);
  std::string text;
  for (const Index i : random.permutation(4).values()) text += sentences[i] + " ";
  return {words_of(text), words_of(question), answer};
}

std::vector<Story> draw_stories(Index count, Random random) {
  std::vector<Story> stories;
  for (Index i = 0; i < count; ++i) stories.push_back(draw_story(random));
  return stories;
}

void add_stories(Digest& digest, const std::vector<Story>& stories) {
  for (const Story& story : stories) {
    for (const auto* words : {&story.passage, &story.question})
      for (const std::string& word : *words) digest.add(word + " ");
    digest.add(story.answer + "\n");
  }
}

}  // namespace

const std::vector<std::string>& entity_names() {
  static const std::vector<std::string> names{
      "bill",     "daniel", "fred",     "jeff",    "john",   "mary",    "sandra",  "apple",
      "football", "milk",   "bathroom", "bedroom", "garden", "hallway", "kitchen", "office"};
  return names;
}

Index entity(const std::string& word) {
  const auto found = std::ranges::find(entity_names(), word);
  return found == entity_names().end() ? -1 : found - entity_names().begin();
}

std::vector<Index> entities_of(const std::vector<std::string>& words) {
  std::vector<Index> found;
  for (const std::string& word : words)
    if (const Index number = entity(word);
        number >= 0 && std::ranges::find(found, number) == found.end())
      found.push_back(number);
  return found;
}

std::string StorySets::digest() const {
  Digest digest;
  for (const auto* set : {&train, &validation}) add_stories(digest, *set);
  return fmt::format("{} stories, {}", train.size() + validation.size(), digest.to_string());
}

std::string StorySets::test_digest() const {
  Digest digest;
  add_stories(digest, test);
  return digest.to_string();
}

std::vector<Story> read_stories(const std::filesystem::path& path, const PassageLimits& limits,
                                std::vector<bool>* begins) {
  std::vector<Story> stories;
  std::vector<Words> sentences;
  bool is_new = true;
  LineReader lines(path);
  while (const auto line = lines.next()) {
    const StoryLine read(*line, fmt::format("{}: line {}", path.string(), lines.number()));
    if (read.number == 1) {
      sentences.clear();
      is_new = true;
    }
    if (!read.is_question) {
      sentences.push_back(words_of_sentence(read.text, &lines));
      lines.keep(in_growing_vector<Words>);
      continue;
    }
    Story story{passage_of(sentences, limits), words_of_sentence(read.text, &lines), {}};
    lines.keep(in_growing_vector<Story> + memory_of(story.passage));
    if (const Words answer = words_of_sentence(read.answer, &lines); !answer.empty()) {
      story.answer = answer.front();
      expect<DataError>(answer.size() == 1 && entity(story.answer) >= 0,
                        "{}: line {}: the answer is not a person, thing or place: {}",
                        path.string(), lines.number(), beginning(std::string(read.answer)));
    }
    expect<DataError>(!story.passage.empty(), "{}: line {}: a question without a text",
                      path.string(), lines.number());
    Words all = story.passage;
    all.insert(all.end(), story.question.begin(), story.question.end());
    const auto entities = std::ssize(entities_of(all));
    expect<DataError>(
        entities <= limits.entities,
        "{}: line {}: {} persons, things and places are asked about; at most {} can be told apart",
        path.string(), lines.number(), entities, limits.entities);
    stories.push_back(std::move(story));
    if (begins != nullptr) begins->push_back(is_new);
    is_new = false;
  }
  expect<DataError>(!stories.empty(), "{}: it has no questions", path.string());
  return stories;
}

StorySets read_story_sets(const std::string& directory, Index task, const PassageLimits& limits) {
  const std::string name = task == 1 ? "qa1_single-supporting-fact" : "qa5_three-arg-relations";
  const auto find = [&](const char* part) {
    return find_data_file(directory, "babi", fmt::format("en-10k/{}_{}.txt", name, part));
  };
  std::vector<bool> begins;
  const std::vector<Story> all = read_stories(find("train"), limits, &begins);
  std::size_t border = all.size() - std::min<std::size_t>(1000, all.size() / 5);
  while (border < all.size() && !begins[border]) ++border;
  StorySets sets{directory, {}, {}, {}};
  const auto usable = [&](const Story& story) { return can_be_answered(story, limits); };
  const auto middle = all.begin() + border;
  std::copy_if(all.begin(), middle, std::back_inserter(sets.train), usable);
  std::copy_if(middle, all.end(), std::back_inserter(sets.validation), usable);
  std::ranges::copy_if(read_stories(find("test"), limits), std::back_inserter(sets.test), usable);
  expect<DataError>(!sets.train.empty() && !sets.validation.empty() && !sets.test.empty(),
                    "{}: too few questions can be answered", directory);
  return sets;
}

StorySets draw_story_sets(std::uint64_t seed) {
  const Random random = Random(seed).stream(12);
  return {"stories drawn by this program", draw_stories(4000, random.stream(1)),
          draw_stories(500, random.stream(2)), draw_stories(500, random.stream(3))};
}

StoryBaselines::StoryBaselines(const std::vector<Story>& stories)
    : uniform(0), last(0), most_frequent(0) {
  for (const Story& story : stories) {
    const std::vector<Index> asked = entities_of(story.question);
    std::map<Index, Index> counts;
    Index latest = -1, commonest = -1;
    for (const std::string& word : story.passage) {
      const Index found = entity(word);
      if (found < 0 || std::ranges::find(asked, found) != asked.end()) continue;
      latest = found;
      ++counts[found];
      if (counts[found] >= counts[commonest]) commonest = found;
    }
    const Index answer = entity(story.answer);
    uniform += 1.0 / entities_of(story.passage).size();
    last += latest == answer;
    most_frequent += commonest == answer;
  }
  for (double* each : {&uniform, &last, &most_frequent}) *each /= stories.size();
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
