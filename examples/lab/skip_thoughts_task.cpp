#include "lab/skip_thoughts_task.h"

#include <algorithm>
#include <memory>

#include "lab/paper_ba2016.h"
#include "lab/selected_training.h"
#include "support/probes.h"
#include "support/shuffled_epochs.h"
#include "support/triplet_task.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

using namespace support;

using Values = std::map<std::string, double>;

// What all trainings on these books share.
struct SkipThoughtsData {
  TripletSets sets;
  ProbeSets probes;
  Vocabulary vocabulary;
  std::vector<TripletBatch> validation;
  double frequencies;  // the validation loss of the frequencies of words
  SkipThoughtsTaskOptions options;

  SkipThoughtsData(const TripletSets& books, const ProbeSets& judges,
                   const SkipThoughtsTaskOptions& o)
      : sets(books),
        probes(judges),
        vocabulary(Vocabulary::most_frequent(sets.counts, o.vocabulary)),
        validation(triplet_batches(sets.validation, vocabulary, o.batch_size)),
        frequencies(frequency_nll(sets, vocabulary)),
        options(o) {}
};

SkipThoughts make_skip_thoughts(const SkipThoughtsData& data, const TaskTrial& trial) {
  Random random = trial.trial.weights();
  return SkipThoughts(data.vocabulary.count(), random,
                      {.words = data.options.words,
                       .hidden = data.options.hidden,
                       .norm = NormSpec(trial.setting.norm)});
}

// What probes find, each under a name that begins with `prefix`, and the mean of 100 r and the
// accuracies as `prefix`.
Values named(const std::string& prefix, const ProbeResults& found) {
  const Relatedness& pairs = *found.relatedness;
  Values values{{prefix + "_r", pairs.pearson},
                {prefix + "_rho", pairs.spearman},
                {prefix + "_MSE", pairs.mean_squared_error}};
  RunningMean mean;
  mean.add(100 * pairs.pearson);
  for (const Classification& each : found.classified) {
    values[fmt::format("{}_{}", prefix, each.name)] = 100 * each.accuracy();
    mean.add(100 * each.accuracy());
  }
  values[prefix] = mean.value();
  return values;
}

// Enters what probes find in the tested state, and before the training as the first points of what
// they found while it went on.
void enter_probes(Outcome& outcome, const ProbeResults& tested, const ProbeResults& untrained) {
  outcome.values.merge(named("test", tested));
  outcome.values.merge(named("untrained", untrained));
  for (const auto& [name, value] : named("probed", untrained)) {
    Trace& trace = outcome.traces[name];
    trace.emplace(trace.begin(), 0, value);
  }
}

// The accuracy on MPQA, in percent, if no phrase is tested after training on a copy of it: of
// 10,606 phrases, 8,241 differ.
double without_copies(const ProbeSets& sets, const SentenceEncoder& encode) {
  const auto set = std::ranges::find(sets.classified, "MPQA", &ClassifiedSentences::name);
  return 100 * probe_classes(*set, encode, Copies::together).accuracy();
}

Outcome train_skip_thoughts(const SkipThoughtsData& data, const TaskTrial& trial) {
  const SkipThoughtsTaskOptions& o = data.options;
  const SkipThoughts net = make_skip_thoughts(data, trial);
  const auto encoder_of = [&](const SkipThoughts& encoder) -> SentenceEncoder {
    return [&](const std::vector<Words>& sentences) {
      return sentence_vectors(encoder, data.vocabulary, sentences);
    };
  };
  const auto probed = [&](const SkipThoughts& encoder) {
    return probe(trial.setting.norm, data.probes, encoder_of(encoder));
  };
  Index steps = 0;
  ShuffledEpochs<TripletBatch> batches(trial.trial.seed, [&](Random& order) {
    return triplet_batches(data.sets.train, data.vocabulary, o.batch_size, &order);
  });
  return train_selected(
      {.net = fields(net),
       .optimizer = {.schedule = "constant", .learning_rate = trial.setting.rate, .clip_norm = 5},
       .steps = o.steps,
       .stretch = o.stretch,
       .loss =
           [&](Index step) {
             const auto& [previous, current, next] = batches.at(step);
             return net.loss(previous, current, next);
           },
       .validate =
           [&] {
             steps += o.stretch;
             const double loss = word_nll(net, data.validation);
             const bool looks = trial.tested && steps % o.look == 0;
             return Validation{loss, loss, looks ? named("probed", probed(net)) : Values()};
           },
       .test =
           [&](Outcome& outcome) {
             const SkipThoughts untrained = make_skip_thoughts(data, trial);
             enter_probes(outcome, probed(net), probed(untrained));
             outcome.values["test_MPQA_together"] = without_copies(data.probes, encoder_of(net));
             outcome.values["untrained_MPQA_together"] =
                 without_copies(data.probes, encoder_of(untrained));
             outcome.values["frequencies"] = data.frequencies;
           }},
      ba2016().task("skip_thoughts").validation(), trial.tested, trial.seen);
}

// All that can be said by words in common, and by how often the net's words stand in a class.
Outcome judge_by_words(const SkipThoughtsData& data) {
  ProbeResults found = naive_bayes_baseline(data.probes, &data.vocabulary);
  found.relatedness = overlap_baseline(data.probes).relatedness;
  return {.values = named("test", found)};
}

}  // namespace

MatrixTask skip_thoughts_task(const TripletSets& sets, const ProbeSets& probes,
                              const SkipThoughtsTaskOptions& o) {
  const auto data = std::make_shared<const SkipThoughtsData>(sets, probes, o);
  return {.name = "skip_thoughts",
          .source = sets.source,
          .data = fmt::format("{}, probes {}", sets.digest(), probes.digest()),
          .configuration = {{"optimizer", "Adam\nconstant rate\nclipped to 5"},
                            {"initial values", "words and inputs U(+-0.1)\nU(+-1/sqrt(inputs))"},
                            {"vocabulary", o.vocabulary},
                            {"words", o.words},
                            {"hidden", o.hidden},
                            {"batch_size", o.batch_size},
                            {"steps", o.steps},
                            {"stretch", o.stretch},
                            {"look", o.look}},
          .rate = o.rate,
          .steps = o.steps,
          .seconds = o.seconds,
          .train = [data](const TaskTrial& trial) { return train_skip_thoughts(*data, trial); },
          .baselines = {{"words_alone", [data] { return judge_by_words(*data); }}},
          .systems = ba2016().task("skip_thoughts").systems};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
