#include "problems/stories.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "data/drawing.h"
#include "data/plain_text.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::problems {
namespace {

using namespace support;
using lab::Outcome;

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

// A baseline of the paper's task.
constexpr const char* by_question = "question_only";

AttentiveReaderOptions of_system(const std::string& system, const ReaderSizes& sizes,
                                 const StorySets& sets) {
  AttentiveReaderOptions options{.hidden = sizes.hidden, .dropout = sizes.dropout};
  std::size_t longest = 0;
  for (const std::vector<Story>* part : {&sets.train, &sets.validation, &sets.test})
    for (const Story& story : *part) longest = std::max(longest, story.passage.size());
  if (system == "layer_small_gain")
    options.norm = NormSpec("layer:gain=0.1");
  else if (system.starts_with("layer"))
    options.norm = NormSpec("layer");
  else if (system.starts_with("batch"))
    options.norm = NormSpec(fmt::format("batch:steps={},gain=0.1", longest));
  if (system == "layer_everywhere") options.product_norm = NormSpec("layer");
  if (system == "batch_everywhere") options.product_norm = NormSpec("batch:gain=0.1");
  return options;
}

std::vector<double> wrong_in_percent(const AttentiveReader& net,
                                     const std::vector<StoryBatch>& batches) {
  std::vector<double> items = wrong_answers(net, batches);
  for (double& each : items) each *= 100;
  return items;
}

}  // namespace

StoryVocabulary::StoryVocabulary(const std::vector<Story>& stories, Index entities)
    : words_(counted(stories), 1), entities_(entities) {}

StoryVocabulary::StoryVocabulary(std::vector<std::string> words, Index entities)
    : words_(Vocabulary::of(std::move(words))), entities_(entities) {}

NumberedStory::NumberedStory(const Story& story, const StoryVocabulary& vocabulary, Random& random)
    : answer(-1), entities(vocabulary.entities(), -1) {
  std::vector<std::string> all = story.passage;
  all.insert(all.end(), story.question.begin(), story.question.end());
  const std::vector<Index> present = entities_of(all);
  expect<ArgumentError>(present.size() <= entities.size(),
                        "NumberedStory: {} entities for {} numbers", present.size(),
                        entities.size());
  const Indices order = random.permutation(vocabulary.entities());
  std::vector<Index> numbers(entity_names().size(), -1);
  for (std::size_t i = 0; i < present.size(); ++i) {
    numbers[present[i]] = order.data()[i];
    entities[order.data()[i]] = present[i];
  }
  const auto number = [&](const std::string& word) {
    const Index found = entity(word);
    return found < 0 ? vocabulary.number(word) : numbers[found];
  };
  std::ranges::transform(story.passage, std::back_inserter(passage), number);
  std::ranges::transform(story.question, std::back_inserter(question), number);
  if (!story.answer.empty()) answer = number(story.answer);
}

StoryBatch::StoryBatch(std::span<const NumberedStory> stories) {
  const auto count = std::ssize(stories);
  std::vector<Index> words, asked, lengths, right;
  std::size_t longest = 0;
  for (const NumberedStory& story : stories) longest = std::max(longest, story.question.size());
  for (const NumberedStory& story : stories) {
    words.insert(words.end(), story.passage.begin(), story.passage.end());
    asked.insert(asked.end(), story.question.begin(), story.question.end());
    asked.insert(asked.end(), longest - story.question.size(), 0);
    lengths.push_back(std::ssize(story.question));
    right.push_back(story.answer);
  }
  passages = Indices({count, std::ssize(words) / count}, words);
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

StoryBatch StoryBatch::last_word_only() const {
  const Index length = passages.shape()[1];
  StoryBatch result = *this;
  result.passages = Indices::uninitialized({rows(), 1});
  for (Index row = 0; row < rows(); ++row)
    result.passages.mutable_data()[row] = passages.data()[(row + 1) * length - 1];
  return result;
}

std::vector<StoryBatch> story_batches(const std::vector<Story>& stories,
                                      const StoryVocabulary& vocabulary, Index size, Random& order,
                                      bool shuffled) {
  const auto count = std::ssize(stories);
  std::vector<Index> places(stories.size());
  std::iota(places.begin(), places.end(), 0);
  if (shuffled) std::ranges::copy(order.permutation(count).values(), places.begin());
  std::map<std::size_t, std::vector<NumberedStory>> by_length;
  for (const Index i : places) {
    NumberedStory story(stories[i], vocabulary, order);
    by_length[story.passage.size()].push_back(std::move(story));
  }
  std::vector<StoryBatch> batches;
  for (const auto& [length, all] : by_length)
    for (std::size_t begin = 0; begin < all.size(); begin += size)
      batches.emplace_back(
          std::span(all).subspan(begin, std::min<std::size_t>(size, all.size() - begin)));
  if (!shuffled) return batches;
  std::vector<StoryBatch> result;
  for (const Index i : order.permutation(std::ssize(batches)).values())
    result.push_back(batches[i]);
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
  const auto sums = cluster.sums(std::ssize(batches), 2, [&](const Shard& shard) {
    const std::vector<double> wrong =
        wrong_answers(net, std::span(batches).subspan(shard.begin, shard.count()));
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
  const Index found = numbered.entities[number];
  answer = found < 0 ? "none of them" : entity_names()[found];
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
  const auto width_of = [&](const std::string& word) { return letter * readable(word).size(); };
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

ReaderTrainee::ReaderTrainee(const StorySets& sets, const StoryVocabulary& vocabulary,
                             const AttentiveReaderOptions& options, Index batch_size,
                             std::uint64_t seed, Random& random, bool question_only)
    : sets_(sets),
      vocabulary_(vocabulary),
      batch_size_(batch_size),
      question_only_(question_only),
      net_(vocabulary.count(), vocabulary.entities(), random, options),
      validation_(fixed_batches(sets.validation)),
      batches_(seed, [&sets, &vocabulary, batch_size](Random& order) {
        return story_batches(sets.train, vocabulary, batch_size, order, true);
      }) {}

StoryBatch ReaderTrainee::seen(StoryBatch batch) const {
  return question_only_ ? batch.last_word_only() : batch;
}

std::vector<StoryBatch> ReaderTrainee::fixed_batches(const std::vector<Story>& stories) const {
  Random numbers(1);
  std::vector<StoryBatch> batches =
      story_batches(stories, vocabulary_, batch_size_, numbers, false);
  for (StoryBatch& batch : batches) batch = seen(std::move(batch));
  return batches;
}

Tensor ReaderTrainee::loss(Index step, const Shard& shard, Random& random) {
  const StoryBatch own = seen(batches_.at(step).part(shard.begin, shard.end));
  named(own.passages, "passages");
  named(own.questions, "questions");
  return cross_entropy(problems::read(net_, own, training(random)).logits,
                       named(own.answers, "answers"));
}

Validation ReaderTrainee::validate() {
  const double error = lab::mean_of_items({.items = wrong_in_percent(net_, validation_)});
  return {error, error};
}

void ReaderTrainee::test(Outcome& outcome) {
  outcome.items = wrong_in_percent(net_, test_batches());
  outcome.values["test"] = mean_of_items(outcome);
}

Problem reader_problem(const StorySets& all, const ReaderSizes& o) {
  const auto sets = std::make_shared<const StorySets>(all);
  const auto vocabulary = std::make_shared<const StoryVocabulary>(all.train, o.entities);
  const auto rule = [sets](double StoryBaselines::*accuracy) {
    return [sets, accuracy] {
      return Outcome{.values = {{"test", 100 - 100 * (StoryBaselines(sets->test).*accuracy)}}};
    };
  };
  return {.source = sets->source,
          .data = fmt::format("{}, test {}", sets->digest(), sets->test_digest()),
          .initial_values = "U(+-1/sqrt(inputs))\nembeddings N(0, 1)",
          .sizes = {{"hidden", o.hidden},
                    {"entities", o.entities},
                    {"dropout", o.dropout},
                    {"batch_size", o.batch_size},
                    {"steps", o.steps},
                    {"eval_interval", o.eval_interval}},
          .optimizer = {.schedule = "constant", .clip_norm = 10},
          .steps = o.steps,
          .eval_interval = o.eval_interval,
          .rate = o.rate,
          .seconds = o.seconds,
          .trainee =
              [sets, vocabulary, o](const lab::TaskTrial& trial, Random& random) {
                const std::string& system = trial.setting.norm;
                return std::make_unique<ReaderTrainee>(
                    *sets, *vocabulary, of_system(system, o, *sets), o.batch_size, trial.trial.seed,
                    random, system == by_question);
              },
          .baselines = {{"any_entity", rule(&StoryBaselines::uniform)},
                        {"last_entity", rule(&StoryBaselines::last)},
                        {"most_frequent_entity", rule(&StoryBaselines::most_frequent)}},
          .trained_baselines = {by_question}};
}

Problem reader_problem(const Origin& origin, Size size) {
  constexpr Index task_of_babi = 5;
  ReaderSizes sizes;
  if (size == Size::smoke)
    sizes = {.hidden = 8, .batch_size = 16, .steps = 12, .eval_interval = 3, .seconds = 0.1};
  StorySets sets = origin.is_drawn() ? draw_story_sets(origin.seed)
                                     : read_story_sets(origin.directory, task_of_babi,
                                                       {.entities = sizes.entities});
  if (size == Size::smoke) {
    sets.train.resize(100);
    for (std::vector<Story>* stories : {&sets.validation, &sets.test}) stories->resize(40);
  }
  return reader_problem(sets, sizes);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
