#include "lab/tree_task.h"

#include <memory>

#include "lab/paper_xu2019.h"
#include "lab/selected_training.h"
#include "support/head_rules.h"
#include "support/parsing_task.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

using namespace support;

// What all trainings on these trees share.
struct TreeData {
  Treebank bank;
  ParserVocabulary vocabulary;
  OracleExamples train, validation_steps;
  std::vector<NumberedSentence> validation, test;
  TreeTaskOptions options;

  TreeData(const Treebank& trees, const TreeTaskOptions& o)
      : bank(trees),
        vocabulary(bank.train),
        train(oracle_examples(vocabulary, bank.train)),
        validation_steps(oracle_examples(vocabulary, bank.validation)),
        validation(numbered(vocabulary, bank.validation)),
        test(numbered(vocabulary, bank.test)),
        options(o) {}
};

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
  const double mean_words = static_cast<double>(words.words) / static_cast<double>(scores.size());
  for (const ParsingScore& each : scores)
    outcome.items.push_back(100 * static_cast<double>(each.without_punctuation.heads) / mean_words);
  outcome.values["test"] = 100 * words.uas();
  outcome.values["test_las"] = 100 * words.las();
  outcome.values["test_with_punctuation"] = 100 * sum_of(scores, &ParsingScore::all).uas();
}

// What a rule scores, sentence by sentence.
Outcome ruled(const TreeData& data, const HeadRule& rule) {
  std::vector<ParsingScore> scores(data.test.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const DependencyTree& tree = data.bank.test[i];
    std::vector<Arc> guesses;
    for (Index word = 1; word <= static_cast<Index>(tree.size()); ++word)
      guesses.push_back({rule(tree, word), 0});
    scores[i].add(data.test[i], guesses);
  }
  Outcome outcome;
  enter_scores(outcome, scores);
  outcome.values.erase("test_las");  // it guesses no relations
  return outcome;
}

Outcome train_parser(const PaperTask& task, const TreeData& data, const TaskTrial& trial) {
  Random random = trial.trial.weights();
  const TreeTaskOptions& o = data.options;
  const TransitionParser net(data.vocabulary.ids(), feature_count,
                             data.vocabulary.classes().count(), random,
                             {.embedding = o.embedding,
                              .hidden = o.hidden,
                              .norm = NormSpec(trial.setting.norm),
                              .dropout = o.dropout});
  EpochBatches batches(data.train, o.batch_size, trial.trial.seed);
  const auto scores = [&](const std::vector<NumberedSentence>& sentences) {
    return sentence_scores(net, data.vocabulary, sentences);
  };
  return train_selected(
      {.net = fields(net),
       .optimizer = {.learning_rate = trial.setting.rate},
       .steps = o.epochs * batches.per_epoch(),
       .stretch = batches.per_epoch(),
       .loss =
           [&](Index step) {
             const auto& [features, transitions] = batches.at(step);
             return cross_entropy(net(features, training(random)), transitions);
           },
       .validate =
           [&] {
             const auto found = sum_of(scores(data.validation), &ParsingScore::without_punctuation);
             return Validation{100 * found.uas(), oracle_loss(net, data.validation_steps)};
           },
       .test = [&](Outcome& outcome) { enter_scores(outcome, scores(data.test)); }},
      task.validation(), trial.tested, trial.seen);
}

}  // namespace

MatrixTask tree_task(const Treebank& bank, const TreeTaskOptions& o) {
  const auto data = std::make_shared<const TreeData>(bank, o);
  return {.name = "ud_ewt",
          .source = bank.source,
          .data = bank.digest(),
          .configuration = {{"optimizer", "Adam\ncosine"},
                            {"initial values", "U(+-1/sqrt(inputs))\nembeddings N(0, 1)"},
                            {"embedding", o.embedding},
                            {"hidden", o.hidden},
                            {"dropout", o.dropout},
                            {"batch_size", o.batch_size},
                            {"epochs", o.epochs}},
          .rate = o.rate,
          .steps = o.epochs * ((data->train.count() + o.batch_size - 1) / o.batch_size),
          .seconds = o.seconds,
          .train =
              [data](const TaskTrial& trial) {
                return train_parser(xu2019().task("ud_ewt"), *data, trial);
              },
          .baselines = {{"next_word", [data] { return ruled(*data, next_word()); }},
                        {"previous_word", [data] { return ruled(*data, previous_word()); }},
                        {"commonest_distance",
                         [data] { return ruled(*data, commonest_distance(data->bank.train)); }}}};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
