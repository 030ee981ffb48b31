#include "support/story_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "support/drawing.h"
#include "support/readable.h"
#include "tapegrad/core/error.h"
#include "tapegrad/nn/data/examples.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/softmax.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

// How often words that are not entities occur in stories.
std::map<std::string, Index> counted(const std::vector<Story>& stories) {
  std::map<std::string, Index> counts;
  for (const Story& story : stories)
    for (const auto* words : {&story.passage, &story.question})
      for (const std::string& word : *words)
        if (entity(word) < 0) ++counts[word];
  return counts;
}

std::vector<std::vector<std::string>> sentences_of(const std::vector<std::string>& words) {
  std::vector<std::vector<std::string>> sentences(1);
  for (const std::string& word : words) {
    sentences.back().push_back(word);
    if (word == ".") sentences.emplace_back();
  }
  if (sentences.back().empty()) sentences.pop_back();
  return sentences;
}

}  // namespace

StoryVocabulary::StoryVocabulary(const std::vector<Story>& stories, Index entities)
    : words_(counted(stories), 1), entities_(entities) {}

StoryVocabulary::StoryVocabulary(std::vector<std::string> words, Index entities)
    : words_(Vocabulary::of(std::move(words))), entities_(entities) {}

NumberedStory::NumberedStory(const Story& story, const StoryVocabulary& vocabulary, Random& random)
    : answer(-1), entities(static_cast<std::size_t>(vocabulary.entities()), -1) {
  std::vector<std::string> all = story.passage;
  all.insert(all.end(), story.question.begin(), story.question.end());
  const std::vector<Index> present = entities_of(all);
  expect<ArgumentError>(present.size() <= entities.size(),
                        "NumberedStory: {} entities for {} numbers", present.size(),
                        entities.size());
  const Indices order = random.permutation(vocabulary.entities());
  std::vector<Index> numbers(entity_names().size(), -1);
  for (std::size_t i = 0; i < present.size(); ++i) {
    numbers[static_cast<std::size_t>(present[i])] = order.data()[i];
    entities[static_cast<std::size_t>(order.data()[i])] = present[i];
  }
  const auto number = [&](const std::string& word) {
    const Index found = entity(word);
    return found < 0 ? vocabulary.number(word) : numbers[static_cast<std::size_t>(found)];
  };
  std::ranges::transform(story.passage, std::back_inserter(passage), number);
  std::ranges::transform(story.question, std::back_inserter(question), number);
  if (!story.answer.empty()) answer = number(story.answer);
}

StoryBatch::StoryBatch(std::span<const NumberedStory> stories) {
  const auto count = static_cast<Index>(stories.size());
  std::vector<Index> words, asked, lengths, right;
  std::size_t longest = 0;
  for (const NumberedStory& story : stories) longest = std::max(longest, story.question.size());
  for (const NumberedStory& story : stories) {
    words.insert(words.end(), story.passage.begin(), story.passage.end());
    asked.insert(asked.end(), story.question.begin(), story.question.end());
    asked.insert(asked.end(), longest - story.question.size(), 0);
    lengths.push_back(static_cast<Index>(story.question.size()));
    right.push_back(story.answer);
  }
  passages = Indices({count, static_cast<Index>(words.size()) / count}, words);
  questions = Indices({count, static_cast<Index>(longest)}, asked);
  question_lengths = Indices({count}, lengths);
  answers = Indices({count}, right);
}

StoryBatch StoryBatch::part(Index begin, Index end) const {
  const auto rows = [&](const Indices& all) { return tapegrad::part(all, begin, end); };
  StoryBatch result;
  result.passages = rows(passages);
  result.questions = rows(questions);
  result.question_lengths = rows(question_lengths);
  result.answers = rows(answers);
  return result;
}

std::vector<StoryBatch> story_batches(const std::vector<Story>& stories,
                                      const StoryVocabulary& vocabulary, Index size, Random& order,
                                      bool shuffled) {
  const auto count = static_cast<Index>(stories.size());
  std::vector<Index> places(stories.size());
  std::iota(places.begin(), places.end(), 0);
  if (shuffled) std::ranges::copy(order.permutation(count).values(), places.begin());
  std::map<std::size_t, std::vector<NumberedStory>> by_length;
  for (const Index i : places) {
    NumberedStory story(stories[static_cast<std::size_t>(i)], vocabulary, order);
    by_length[story.passage.size()].push_back(std::move(story));
  }
  std::vector<StoryBatch> batches;
  for (const auto& [length, all] : by_length)
    for (std::size_t begin = 0; begin < all.size(); begin += static_cast<std::size_t>(size))
      batches.emplace_back(std::span(all).subspan(
          begin, std::min(static_cast<std::size_t>(size), all.size() - begin)));
  if (!shuffled) return batches;
  std::vector<StoryBatch> result;
  for (const Index i : order.permutation(static_cast<Index>(batches.size())).values())
    result.push_back(batches[static_cast<std::size_t>(i)]);
  return result;
}

AttentiveReader::Result read(const AttentiveReader& net, const StoryBatch& batch, Mode mode) {
  return net(batch.passages, {}, batch.questions, batch.question_lengths, mode);
}

std::vector<double> wrong_answers(const AttentiveReader& net, std::span<const StoryBatch> batches) {
  std::vector<double> wrong;
  for (const StoryBatch& batch : batches) {
    const Indices given = argmax(read(net, batch).logits);
    for (Index i = 0; i < given.size(); ++i)
      wrong.push_back(given.data()[i] == batch.answers.data()[i] ? 0 : 1);
  }
  return wrong;
}

double error_rate(const AttentiveReader& net, const std::vector<StoryBatch>& batches,
                  Cluster& cluster) {
  const auto sums = cluster.sums(static_cast<Index>(batches.size()), 2, [&](const Shard& shard) {
    const std::vector<double> wrong =
        wrong_answers(net, std::span(batches).subspan(static_cast<std::size_t>(shard.begin),
                                                      static_cast<std::size_t>(shard.count())));
    return std::vector{std::accumulate(wrong.begin(), wrong.end(), 0.0),
                       static_cast<double>(wrong.size())};
  });
  return sums[0] / sums[1];
}

ReadStory::ReadStory(const AttentiveReader& net, const StoryVocabulary& vocabulary,
                     const Story& asked)
    : story(asked) {
  Random numbers(1);
  const NumberedStory numbered(story, vocabulary, numbers);
  const auto [logits, weights] = read(net, StoryBatch({&numbered, 1}));
  const Index number = argmax(logits).data()[0];
  const Index found = numbered.entities[static_cast<std::size_t>(number)];
  answer = found < 0 ? "none of them" : entity_names()[static_cast<std::size_t>(found)];
  probability = softmax(logits).data()[number];
  attention.assign(weights.data(), weights.data() + weights.size());
}

std::string as_text(const ReadStory& read) {
  std::string text;
  std::size_t word_number = 0;
  for (const auto& sentence : sentences_of(read.story.passage)) {
    std::vector<std::string> words;
    for (const std::string& word : sentence) {
      const double weight = read.attention[word_number++];
      words.push_back(weight < 0.01 ? readable(word)
                                    : fmt::format("{}[{:.0f} %]", readable(word), 100 * weight));
    }
    text += fmt::format("{}\n", fmt::join(words, " "));
  }
  std::vector<std::string> question;
  for (const std::string& word : read.story.question) question.push_back(readable(word));
  text += fmt::format("  {} -> {} ({:.0f} %)", fmt::join(question, " "), read.answer,
                      100 * read.probability);
  if (!read.story.answer.empty() && read.story.answer != read.answer)
    text += fmt::format("; right: {}", read.story.answer);
  return text + "\n";
}

std::string as_svg(const std::vector<ReadStory>& stories) {
  constexpr double margin = 16, letter = 8.5, space = 8, row = 40, gap = 24, most = 16, least = 0.1;
  double width = 0, height = margin;
  const auto width_of = [&](const std::string& word) {
    return letter * static_cast<double>(readable(word).size());
  };
  for (const ReadStory& read : stories) {
    for (const auto& sentence : sentences_of(read.story.passage)) {
      double x = 2 * margin;
      for (const std::string& word : sentence) x += width_of(word) + space;
      width = std::max(width, x);
      height += row;
    }
    height += row + gap;
  }
  width = std::max(width, 560.0);
  Drawing drawing(width, height);
  double y = margin;
  for (const ReadStory& read : stories) {
    std::size_t word_number = 0;
    for (const auto& sentence : sentences_of(read.story.passage)) {
      double x = margin;
      for (const std::string& word : sentence) {
        const double length = width_of(word), tall = most * read.attention[word_number++];
        drawing.words({x + length / 2, y + 14}, readable(word), "middle");
        const double top = y + 20, bottom = top + tall;
        if (tall >= least)
          drawing.area({{x, top}, {x + length, top}, {x + length, bottom}, {x, bottom}}, "blue");
        x += length + space;
      }
      y += row;
    }
    drawing.words({margin, y + 14},
                  fmt::format("{} \u2192 {} ({:.0f} %)",
                              readable(fmt::format("{}", fmt::join(read.story.question, " "))),
                              read.answer, 100 * read.probability),
                  "strong");
    y += row + gap;
  }
  return drawing.svg();
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
