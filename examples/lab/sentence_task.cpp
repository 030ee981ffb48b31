#include "lab/sentence_task.h"

#include <algorithm>
#include <memory>

#include "lab/paper_xu2019.h"
#include "lab/selected_training.h"
#include "support/naive_bayes.h"
#include "support/shuffled_epochs.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

using support::NaiveBayes;
using support::SentenceSets;

// What all trainings on these sentences share.
struct SentenceData {
  SentenceSets sets;
  Vocabulary vocabulary;
  SentenceTaskOptions options;

  std::vector<SentenceBatch> batches(const std::vector<Sentence>& sentences) const {
    return sentence_batches(sentences, vocabulary, options.batch_tokens);
  }
};

// Enters the share of right answers in percent, with the answers as items.
void enter_answers(Outcome& outcome, const std::vector<double>& items) {
  outcome.items = items;
  outcome.values["test"] = mean_of_items(outcome);
}

// 100 for each sentence that is classified rightly, in the order of the batches.
std::vector<double> answers(const TransformerClassifier& net,
                            const std::vector<SentenceBatch>& batches) {
  std::vector<double> right;
  for (const auto& [words, lengths, labels] : batches) {
    const Indices guesses = argmax(net(words, lengths));
    for (Index i = 0; i < labels.size(); ++i)
      right.push_back(guesses.data()[i] == labels.data()[i] ? 100 : 0);
  }
  return right;
}

Validation validate_sentences(const TransformerClassifier& net,
                              const std::vector<SentenceBatch>& batches) {
  RunningMean loss, share;
  for (const auto& [words, lengths, labels] : batches) {
    const Tensor logits = net(words, lengths);
    loss.add(cross_entropy(logits, labels).item(), labels.size());
    share.add(accuracy(logits, labels), labels.size());
  }
  return {100 * share.value(), loss.value()};
}

Outcome train_classifier(const PaperTask& task, const SentenceData& data, const TaskTrial& trial) {
  Random random = trial.trial.weights();
  support::SentenceNet shape = data.options.net;
  shape.norm = trial.setting.norm;
  const TransformerClassifier net(data.vocabulary.count(), data.sets.classes, random,
                                  shape.model());
  support::ShuffledEpochs<SentenceBatch> epochs(trial.trial.seed, [&](Random& order) {
    return sentence_batches(data.sets.train, data.vocabulary, data.options.batch_tokens, &order);
  });
  const std::vector<SentenceBatch> validation = data.batches(data.sets.validation);
  return train_selected({.net = fields(net),
                         .optimizer = {.learning_rate = trial.setting.rate, .beta2 = 0.998},
                         .steps = data.options.epochs * epochs.per_epoch(),
                         .stretch = epochs.per_epoch(),
                         .loss =
                             [&](Index step) {
                               const auto& [words, lengths, labels] = epochs.at(step);
                               return cross_entropy(net(words, lengths, training(random)), labels);
                             },
                         .validate = [&] { return validate_sentences(net, validation); },
                         .test =
                             [&](Outcome& outcome) {
                               enter_answers(outcome, answers(net, data.batches(data.sets.test)));
                             }},
                        task.validation(), trial.tested, trial.seen);
}

// The answers of a rule without a net.
template <class Rule>
Outcome ruled(const SentenceData& data, const Rule& rule) {
  std::vector<double> right;
  for (const Sentence& sentence : data.sets.test)
    right.push_back(rule(sentence) == sentence.label ? 100 : 0);
  Outcome outcome;
  enter_answers(outcome, right);
  return outcome;
}

}  // namespace

MatrixTask sentence_task(const std::string& name, const SentenceSets& sets,
                         const SentenceTaskOptions& options) {
  const auto data =
      std::make_shared<SentenceData>(SentenceData{sets, Vocabulary(sets.train), options});
  // The order of batches, so that items of nets and of rules pair.
  std::stable_sort(
      data->sets.test.begin(), data->sets.test.end(),
      [](const Sentence& a, const Sentence& b) { return a.words.size() < b.words.size(); });
  const support::SentenceNet& net = options.net;
  const PaperTask& task = xu2019().task(name);
  return {.name = name,
          .source = sets.source,
          .data = fmt::format("{}, test {}", sets.digest(), sets.test_digest()),
          .configuration = {{"optimizer", "Adam\nbetas 0.9 and 0.998\ncosine"},
                            {"initial values", "U(+-1/sqrt(inputs))\nwords N(0, 1/sqrt(channels))"},
                            {"layers", net.layers},
                            {"heads", net.heads},
                            {"channels", net.channels},
                            {"hidden", net.hidden},
                            {"dropout", net.dropout},
                            {"batch_tokens", options.batch_tokens},
                            {"epochs", options.epochs}},
          .rate = options.rate,
          .steps = options.epochs * static_cast<Index>(data->batches(sets.train).size()),
          .seconds = options.seconds,
          .train = [data,
                    &task](const TaskTrial& trial) { return train_classifier(task, *data, trial); },
          .baselines = {{"majority",
                         [data] {
                           const Index label = support::majority(data->sets.train);
                           return ruled(*data, [=](const Sentence&) { return label; });
                         }},
                        {"naive_bayes",
                         [data] {
                           const NaiveBayes bayes(data->sets.train, data->sets.classes);
                           return ruled(*data,
                                        [&](const Sentence& each) { return bayes.classify(each); });
                         }}},
          .systems = task.systems};
}

MatrixTask split_task(const std::string& name,
                      const std::function<SentenceSets(std::uint64_t split)>& sets,
                      const SentenceTaskOptions& options) {
  MatrixTask task = sentence_task(name, sets(1), options);
  const auto of_seed = [=](std::uint64_t seed) {
    return sentence_task(name, sets(1 + seed), options);
  };
  task.train = [=](const TaskTrial& trial) { return of_seed(trial.trial.seed).train(trial); };
  for (auto& baseline : task.baselines)
    baseline.second = [=, rule = baseline.first] {
      RunningMean mean;
      for (Index seed = 1; seed <= xu2019().task(name).fewest_seeds; ++seed)
        mean.add(of_seed(static_cast<std::uint64_t>(seed)).baselines.at(rule)().values.at("test"));
      return Outcome{.values = {{"test", mean.value()}}};
    };
  return task;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
