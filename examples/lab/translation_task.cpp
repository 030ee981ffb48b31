#include "lab/translation_task.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <span>

#include "lab/paper_xu2019.h"
#include "lab/selected_training.h"
#include "support/shuffled_epochs.h"
#include "support/translation.h"
#include "tapegrad/nn/data/sentences.h"
#include "tapegrad/nn/metrics/bleu.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/resume.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

using namespace support;

std::vector<std::string> both_sides(const ParallelLines& lines) {
  std::vector<std::string> all = lines.source;
  all.insert(all.end(), lines.target.begin(), lines.target.end());
  return all;
}

// What all trainings on these pairs share.
struct TranslationData {
  TranslationSets sets;
  TranslationTaskOptions options;
  Subwords subwords;
  EncodedPairs train;
  std::vector<PairBatch> validation;

  TranslationData(const TranslationSets& s, const TranslationTaskOptions& o)
      : sets(s),
        options(o),
        subwords(Subwords::learn(both_sides(sets.train), o.vocabulary)),
        train(sets.train, subwords),
        validation(pair_batches({sets.validation, subwords}, o.batch_tokens)) {}

  const ParallelLines& test() const { return sets.tests.front().lines; }
  ShuffledEpochs<PairBatch> epochs(std::uint64_t seed) const {
    return {seed,
            [this](Random& order) { return pair_batches(train, options.batch_tokens, &order); }};
  }
  // Steps between two validations.
  Index stretch() const { return epochs(1).per_epoch() / options.validations; }
  Index steps() const { return options.epochs * options.validations * stretch(); }
};

void score(Outcome& outcome, const std::vector<std::string>& translations,
           const TranslationData& data) {
  outcome.items = bleu_shares(translations, data.test().target);
  outcome.values["test"] = mean_of_items(outcome);
}

double mean_translation_loss(const Translator& net, const TranslationData& data) {
  RunningMean loss;
  for (const PairBatch& batch : data.validation)
    loss.add(translation_loss(net, batch, data.options.label_smoothing).item(), batch.tokens());
  return loss.value();
}

Outcome train_translator(const PaperTask& task, const TranslationData& data,
                         const TaskTrial& trial) {
  const TranslationTaskOptions& o = data.options;
  Random random = trial.trial.weights();
  TransformerOptions stack = o.stack;
  stack.norm = NormSpec(trial.setting.norm);
  const Translator net(data.subwords.count(), random,
                       {.stack = stack, .positions = Positions::sinusoidal});
  ShuffledEpochs<PairBatch> batches = data.epochs(trial.trial.seed);
  return train_selected(
      {.net = fields(net),
       .optimizer = {.optimizer = "adamw",
                     .schedule = "warmup",
                     .learning_rate = trial.setting.rate,
                     .warmup = o.warmup,
                     .beta2 = 0.98,
                     .weight_decay = 1e-4},
       .steps = data.steps(),
       .stretch = data.stretch(),
       .loss =
           [&](Index step) {
             return translation_loss(net, batches.at(step), o.label_smoothing, training(random));
           },
       .validate =
           [&] {
             const double loss = mean_translation_loss(net, data);
             return Validation{loss, loss};
           },
       .test =
           [&](Outcome& outcome) {
             const auto translated = [&](const ParallelLines& lines) {
               return translate(net, data.subwords, lines.source, o.beam);
             };
             score(outcome, translated(data.test()), data);
             for (const auto& [name, lines] : std::span(data.sets.tests).subspan(1))
               outcome.values[name] = bleu(translated(lines), lines.target);
           }},
      task.validation(), trial.tested, trial.seen);
}

std::set<std::string> distinct_words(const std::string& line) {
  const std::vector<std::string> words = words_of(line);
  return {words.begin(), words.end()};
}

// For each test line the target of the training pair whose source is nearest to it: the cosine of
// their words, weighted by their rarity, log(pairs / pairs with the word).
std::vector<std::string> nearest_targets(const TranslationData& data) {
  const ParallelLines& train = data.sets.train;
  std::map<std::string, std::vector<std::size_t>> lines_with;
  for (std::size_t i = 0; i < train.source.size(); ++i)
    for (const std::string& word : distinct_words(train.source[i])) lines_with[word].push_back(i);
  const auto rarity = [&](const std::vector<std::size_t>& lines) {
    return std::log(static_cast<double>(train.source.size()) / static_cast<double>(lines.size()));
  };
  std::vector<double> lengths(train.source.size());
  for (const auto& [word, lines] : lines_with)
    for (const std::size_t line : lines) lengths[line] += rarity(lines) * rarity(lines);
  std::vector<std::string> nearest;
  for (const std::string& line : data.test().source) {
    std::vector<double> shared(train.source.size());
    for (const std::string& word : distinct_words(line))
      if (const auto found = lines_with.find(word); found != lines_with.end())
        for (const std::size_t i : found->second)
          shared[i] += rarity(found->second) * rarity(found->second) / std::sqrt(lengths[i]);
    const auto best = std::max_element(shared.begin(), shared.end()) - shared.begin();
    nearest.push_back(train.target[static_cast<std::size_t>(best)]);
  }
  return nearest;
}

std::string digest_of(const TranslationSets& sets) {
  Digest test;
  for (const TranslationSets::Test& each : sets.tests)
    for (const std::string& line : both_sides(each.lines)) test.add(line + "\n");
  return fmt::format("{}, test {}", sets.digest(), test.to_string());
}

BleuCounts without(const BleuCounts& all, const BleuCounts& one) {
  BleuCounts others = all;
  for (std::size_t n = 0; n < bleu_order; ++n) {
    others.matches[n] -= one.matches[n];
    others.total[n] -= one.total[n];
  }
  others.length -= one.length;
  others.reference_length -= one.reference_length;
  return others;
}

}  // namespace

std::vector<double> bleu_shares(const std::vector<std::string>& translations,
                                const std::vector<std::string>& references) {
  const double score = bleu(translations, references);
  std::vector<BleuCounts> sentences;
  BleuCounts all;
  for (std::size_t i = 0; i < translations.size(); ++i)
    all += sentences.emplace_back(bleu_counts(translations[i], references[i]));
  RunningMean mean;
  for (const BleuCounts& each : sentences) mean.add(bleu(without(all, each)));
  const auto others = static_cast<double>(sentences.size()) - 1;
  std::vector<double> shares;
  for (const BleuCounts& each : sentences)
    shares.push_back(score + others * (mean.value() - bleu(without(all, each))));
  return shares;
}

MatrixTask translation_task(const std::string& name, const TranslationSets& sets,
                            const TranslationTaskOptions& o) {
  const auto data = std::make_shared<const TranslationData>(sets, o);
  const auto tested = [data](const std::vector<std::string>& translations) {
    Outcome outcome;
    score(outcome, translations, *data);
    return outcome;
  };
  return {
      .name = name,
      .source = sets.source,
      .data = digest_of(sets),
      .configuration = {{"optimizer", "AdamW\nbetas 0.9 and 0.98\ninverse square root"},
                        {"initial values", "U(+-1/sqrt(inputs))\nsubwords N(0, 1/sqrt(channels))"},
                        {"layers", o.stack.layers},
                        {"heads", o.stack.heads},
                        {"channels", o.stack.channels},
                        {"feed_forward", o.stack.feed_forward},
                        {"dropouts",
                         {o.stack.dropout, o.stack.attention_dropout.value_or(o.stack.dropout),
                          o.stack.activation_dropout.value_or(o.stack.dropout)}},
                        {"vocabulary", o.vocabulary},
                        {"batch_tokens", o.batch_tokens},
                        {"epochs", o.epochs},
                        {"validations", o.validations},
                        {"warmup", o.warmup},
                        {"label_smoothing", o.label_smoothing},
                        {"beam", o.beam}},
      .rate = o.rate,
      .steps = data->steps(),
      .seconds = o.seconds,
      .train = [data, &task = xu2019().task(name)](
                   const TaskTrial& trial) { return train_translator(task, *data, trial); },
      .baselines = {{"source_copied", [data, tested] { return tested(data->test().source); }},
                    {"nearest_source", [data, tested] { return tested(nearest_targets(*data)); }}},
      .systems = name == "en_de"
                     ? std::vector<std::string>{"none", "layer_simple", "detach", "detach_variance"}
                     : paper_norms};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
