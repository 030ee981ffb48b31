#include "problems/parsing.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "data/head_rules.h"
#include "data/plain_text.h"
#include "experiments/drift_training.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::problems {
namespace {

using namespace support;
using lab::Outcome;

constexpr Index side_by_side = 256;      // sentences that are parsed at a time
constexpr Index configurations = 1000;   // that are evaluated at a time
constexpr Index first_label_number = 2;  // of a Vocabulary's own words

template <class Field>
std::vector<std::string> frequent(const std::vector<DependencyTree>& trees, Index least,
                                  const Field& field) {
  std::map<std::string, Index> counts;
  for (const DependencyTree& tree : trees)
    for (const DependencyWord& word : tree) ++counts[field(word)];
  return Vocabulary(counts, least).words();
}

std::vector<std::string> relations_of(const std::vector<DependencyTree>& trees) {
  std::vector<std::string> relations = frequent(
      trees, 1, [](const DependencyWord& word) { return universal_relation(word.relation); });
  std::erase(relations, "root");
  relations.insert(relations.begin(), "root");
  return relations;
}

// The legal transition with the greatest logit.
Transition best_transition(const Configuration& configuration, const TransitionClasses& classes,
                           const real* logits) {
  std::optional<Transition> best;
  real greatest = -std::numeric_limits<real>::infinity();
  for (Index number = 0; number < classes.count(); ++number) {
    const Transition transition = classes.at(number);
    if (!configuration.is_legal(transition) || (best && !(logits[number] > greatest))) continue;
    best = transition;
    greatest = logits[number];
  }
  return best.value();
}

// A sentence that is being parsed.
struct Open {
  const NumberedSentence* sentence;
  Configuration configuration;
};

// Takes a step in all sentences that are not at their ends.
bool step(const TransitionParser& net, const ParserVocabulary& vocabulary,
          std::vector<Open>& sentences) {
  std::vector<Open*> active;
  for (Open& each : sentences)
    if (!each.configuration.is_final()) active.push_back(&each);
  if (active.empty()) return false;
  Indices features = Indices::uninitialized({std::ssize(active), feature_count});
  Index* row = features.mutable_data();
  for (const Open* each : active) {
    vocabulary.features(each->configuration, *each->sentence, {row, feature_count});
    row += feature_count;
  }
  const TransitionClasses classes = vocabulary.classes();
  const Tensor logits = net(features);
  const real* scores = logits.data();
  for (Open* each : active) {
    each->configuration.apply(best_transition(each->configuration, classes, scores));
    scores += classes.count();
  }
  return true;
}

// The scores of sentences, one by one.
std::vector<ParsingScore> sentence_scores(const TransitionParser& net,
                                          const ParserVocabulary& vocabulary,
                                          const std::vector<NumberedSentence>& sentences) {
  const std::vector<std::vector<Arc>> guesses = parse(net, vocabulary, sentences);
  std::vector<ParsingScore> scores(sentences.size());
  for (std::size_t i = 0; i < sentences.size(); ++i) scores[i].add(sentences[i], guesses[i]);
  return scores;
}

AttachmentScore sum_of(const std::vector<ParsingScore>& scores,
                       AttachmentScore ParsingScore::*part) {
  AttachmentScore sum;
  for (const ParsingScore& each : scores) {
    sum.words += (each.*part).words;
    sum.heads += (each.*part).heads;
    sum.arcs += (each.*part).arcs;
  }
  return sum;
}

double oracle_loss(const TransitionParser& net, const OracleExamples& examples) {
  constexpr Index rows = 4096;
  RunningMean loss;
  for (const auto& [features, transitions] : Batches(examples, rows))
    loss.add(cross_entropy(net(features), transitions).item(), transitions.size());
  return loss.value();
}

void enter_scores(Outcome& outcome, const std::vector<ParsingScore>& scores) {
  const AttachmentScore words = sum_of(scores, &ParsingScore::without_punctuation);
  const double mean_words = static_cast<double>(words.words) / scores.size();
  for (const ParsingScore& each : scores)
    outcome.items.push_back(100.0 * each.without_punctuation.heads / mean_words);
  outcome.values["test"] = 100 * words.uas();
  outcome.values["test_las"] = 100 * words.las();
  outcome.values["test_with_punctuation"] = 100 * sum_of(scores, &ParsingScore::all).uas();
}

// What a rule scores, sentence by sentence.
Outcome ruled(const ParserData& data, const HeadRule& rule) {
  std::vector<ParsingScore> scores(data.test.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const DependencyTree& tree = data.bank.test[i];
    std::vector<Arc> guesses;
    for (Index word = 1; word <= std::ssize(tree); ++word) guesses.push_back({rule(tree, word), 0});
    scores[i].add(data.test[i], guesses);
  }
  Outcome outcome;
  enter_scores(outcome, scores);
  outcome.values.erase("test_las");  // it guesses no relations
  return outcome;
}

}  // namespace

ParserVocabulary::ParserVocabulary(const std::vector<DependencyTree>& trees)
    : ParserVocabulary(
          frequent(trees, 2, [](const DependencyWord& word) { return lower_case(word.form); }),
          frequent(trees, 1, [](const DependencyWord& word) { return word.xpos; }),
          relations_of(trees)) {}

ParserVocabulary::ParserVocabulary(std::vector<std::string> words, std::vector<std::string> tags,
                                   std::vector<std::string> relations)
    : words_(Vocabulary::of(std::move(words))),
      tags_(Vocabulary::of(std::move(tags))),
      relations_(Vocabulary::of(std::move(relations))) {
  expect<DataError>(!this->relations().empty() && this->relations().front() == "root",
                    "vocabulary: the first relation is not \"root\"");
}

NumberedSentence ParserVocabulary::numbered(const DependencyTree& tree) const {
  NumberedSentence result;
  result.words.push_back(words_.count());
  result.tags.push_back(first_tag() + tags_.count());
  for (const DependencyWord& word : tree) {
    result.words.push_back(words_.number(lower_case(word.form)));
    result.tags.push_back(first_tag() + tags_.number(word.xpos));
    result.arcs.push_back(
        {word.head, relations_.number(universal_relation(word.relation)) - first_label_number});
    result.punctuation.push_back(word.upos == "PUNCT");
  }
  return result;
}

void ParserVocabulary::features(const Configuration& configuration,
                                const NumberedSentence& sentence, std::span<Index> row) const {
  const auto tokens = configuration.tokens();
  const std::span<Index> words = row.first(feature_tokens);
  const std::span<Index> tags = row.subspan(feature_tokens, feature_tokens);
  const std::span<Index> labels = row.subspan(2 * feature_tokens);
  for (std::size_t i = 0; i < feature_tokens; ++i) {
    const bool exists = tokens[i] != Configuration::none;
    const Index token = tokens[i];
    words[i] = exists ? sentence.words[token] : 0;
    tags[i] = exists ? sentence.tags[token] : first_tag();
    if (i < first_labelled_token) continue;
    const Index label = exists ? configuration.arcs()[token - 1].label : Configuration::none;
    labels[i - first_labelled_token] = first_label() + (exists ? label + first_label_number : 0);
  }
}

OracleExamples oracle_examples(const ParserVocabulary& vocabulary,
                               const std::vector<DependencyTree>& trees) {
  std::vector<NumberedSentence> sentences;
  Index count = 0;
  for (const DependencyTree& tree : trees) {
    NumberedSentence sentence = vocabulary.numbered(tree);
    if (!is_projective(tree) || std::ranges::count(sentence.arcs, -1, &Arc::label) > 0) continue;
    count += 2 * std::ssize(tree);
    sentences.push_back(std::move(sentence));
  }
  expect<DataError>(count > 0, "oracle: there are no projective trees among {}", trees.size());
  Indices features = Indices::uninitialized({count, feature_count});
  Indices classes = Indices::uninitialized({count});
  Index* row = features.mutable_data();
  Index* number = classes.mutable_data();
  for (const NumberedSentence& sentence : sentences) {
    Configuration configuration(std::ssize(sentence.arcs));
    for (const Transition& transition : oracle(sentence.arcs)) {
      vocabulary.features(configuration, sentence, {row, feature_count});
      *number++ = vocabulary.classes().number(transition);
      row += feature_count;
      configuration.apply(transition);
    }
  }
  return OracleExamples(features, classes);
}

std::vector<NumberedSentence> numbered(const ParserVocabulary& vocabulary,
                                       const std::vector<DependencyTree>& trees) {
  std::vector<NumberedSentence> sentences;
  for (const DependencyTree& tree : trees) sentences.push_back(vocabulary.numbered(tree));
  return sentences;
}

std::vector<std::vector<Arc>> parse(const TransitionParser& net, const ParserVocabulary& vocabulary,
                                    std::span<const NumberedSentence> sentences) {
  std::vector<std::vector<Arc>> result;
  while (!sentences.empty()) {
    std::vector<Open> open;
    for (const NumberedSentence& sentence :
         sentences.first(std::min<std::size_t>(side_by_side, sentences.size())))
      open.push_back({&sentence, Configuration(std::ssize(sentence.arcs))});
    while (step(net, vocabulary, open)) {
    }
    for (const Open& each : open) result.push_back(each.configuration.arcs());
    sentences = sentences.subspan(open.size());
  }
  return result;
}

void ParsingScore::add(const NumberedSentence& sentence, const std::vector<Arc>& guesses) {
  for (std::size_t word = 0; word < guesses.size(); ++word) {
    all.add(sentence.arcs[word], guesses[word]);
    if (!sentence.punctuation[word]) without_punctuation.add(sentence.arcs[word], guesses[word]);
  }
}

ParsingScore score(Cluster& cluster, const TransitionParser& net,
                   const ParserVocabulary& vocabulary,
                   const std::vector<NumberedSentence>& sentences) {
  const auto rows = std::ssize(sentences);
  const auto counts = cluster.sums(rows, 6, [&](const Shard& shard) {
    const auto part = std::span(sentences).subspan(shard.begin, shard.count());
    const auto guesses = parse(net, vocabulary, part);
    ParsingScore found;
    for (std::size_t i = 0; i < part.size(); ++i) found.add(part[i], guesses[i]);
    std::vector<double> numbers;
    for (const AttachmentScore& each : {found.all, found.without_punctuation})
      for (const Index count : {each.words, each.heads, each.arcs}) numbers.push_back(count);
    return numbers;
  });
  const auto sums = [&](std::size_t first) -> AttachmentScore {
    const auto at = [&](std::size_t i) { return static_cast<Index>(counts[first + i]); };
    return {.words = at(0), .heads = at(1), .arcs = at(2)};
  };
  return {.all = sums(0), .without_punctuation = sums(3)};
}

double mean_loss(Cluster& cluster, const TransitionParser& net, const OracleExamples& examples) {
  const double sum = cluster.sums(examples.count(), 1, [&](const Shard& shard) {
    const auto& [features, transitions] = examples.columns();
    double loss = 0;
    for (Index begin = shard.begin; begin < shard.end; begin += configurations) {
      const Index end = std::min(begin + configurations, shard.end);
      const Tensor logits = net(part(features, begin, end));
      loss += static_cast<double>(end - begin) *
              cross_entropy(logits, part(transitions, begin, end)).item();
    }
    return std::vector{loss};
  })[0];
  return sum / examples.count();
}

Treebank treebank(const Origin& origin) {
  return origin.is_drawn() ? draw_treebank(origin.seed) : read_treebank(origin.directory);
}

ParserData::ParserData(const Treebank& trees)
    : bank(trees),
      vocabulary(bank.train),
      train(oracle_examples(vocabulary, bank.train)),
      validation_steps(oracle_examples(vocabulary, bank.validation)),
      validation(numbered(vocabulary, bank.validation)),
      test(numbered(vocabulary, bank.test)) {}

ParserTrainee::ParserTrainee(const ParserData& data, const ParserOptions& options, Index batch_size,
                             std::uint64_t seed, Random& random)
    : data_(data),
      net_(data.vocabulary.ids(), feature_count, data.vocabulary.classes().count(), random,
           options),
      batches_(data.train, batch_size, seed) {}

Tensor ParserTrainee::loss(Index step, const Shard& shard, Random& random) {
  const auto& [features, transitions] = batches_.at(step);
  return cross_entropy(
      net_(named(part(features, shard.begin, shard.end), "features"), training(random)),
      named(part(transitions, shard.begin, shard.end), "transitions"));
}

Validation ParserTrainee::validate() {
  const AttachmentScore found = sum_of(sentence_scores(net_, data_.vocabulary, data_.validation),
                                       &ParsingScore::without_punctuation);
  return {100 * found.uas(), oracle_loss(net_, data_.validation_steps)};
}

void ParserTrainee::test(Outcome& outcome) {
  enter_scores(outcome, sentence_scores(net_, data_.vocabulary, data_.test));
}

Problem parser_problem(const Treebank& bank, const ParserSizes& o) {
  const auto data = std::make_shared<const ParserData>(bank);
  const Index per_epoch = (data->train.count() + o.batch_size - 1) / o.batch_size;
  return {.source = bank.source,
          .data = bank.digest(),
          .initial_values = "U(+-1/sqrt(inputs))\nembeddings N(0, 1)",
          .sizes = {{"embedding", o.embedding},
                    {"hidden", o.hidden},
                    {"dropout", o.dropout},
                    {"batch_size", o.batch_size},
                    {"epochs", o.epochs}},
          .optimizer = {},
          .steps = o.epochs * per_epoch,
          .eval_interval = per_epoch,
          .rate = o.rate,
          .seconds = o.seconds,
          .trainee =
              [data, o](const lab::TaskTrial& trial, Random& random) {
                return std::make_unique<ParserTrainee>(
                    *data,
                    ParserOptions{.embedding = o.embedding,
                                  .hidden = o.hidden,
                                  .norm = lab::norm_and_constraints(trial.setting.norm).norm,
                                  .dropout = o.dropout},
                    o.batch_size, trial.trial.seed, random);
              },
          .baselines = {{"next_word", [data] { return ruled(*data, next_word()); }},
                        {"previous_word", [data] { return ruled(*data, previous_word()); }},
                        {"commonest_distance",
                         [data] { return ruled(*data, commonest_distance(data->bank.train)); }}}};
}

Problem parser_problem(const Origin& origin, Size size) {
  Treebank bank = treebank(origin);
  if (size == Size::report) return parser_problem(bank);
  for (std::vector<DependencyTree>* part : {&bank.train, &bank.validation, &bank.test})
    part->resize(50);
  return parser_problem(
      bank, {.embedding = 8, .hidden = 16, .batch_size = 128, .epochs = 2, .seconds = 0.2});
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
