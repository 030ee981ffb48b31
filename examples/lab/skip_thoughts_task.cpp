#include "lab/skip_thoughts_task.h"

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

// What all trainings on these books share.
struct SkipThoughtsData {
  TripletSets sets;
  ProbeSets probes;
  Vocabulary vocabulary;
  std::vector<TripletBatch> validation;
  SkipThoughtsTaskOptions options;

  SkipThoughtsData(const TripletSets& books, const ProbeSets& judges,
                   const SkipThoughtsTaskOptions& o)
      : sets(books),
        probes(judges),
        vocabulary(Vocabulary::most_frequent(sets.counts, o.vocabulary)),
        validation(triplet_batches(sets.validation, vocabulary, o.batch_size)),
        options(o) {}
};

SkipThoughts make_skip_thoughts(const SkipThoughtsData& data, const TaskTrial& trial) {
  Random random = trial.trial.weights();
  return SkipThoughts(data.vocabulary.count(), random,
                      {.words = data.options.words,
                       .hidden = data.options.hidden,
                       .norm = NormSpec(trial.setting.norm)});
}

// Enters what probes find, with the mean of r and the accuracies as `name`.
void enter_probes(Outcome& outcome, const std::string& name, const ProbeResults& found) {
  const Relatedness& pairs = *found.relatedness;
  outcome.values[name + "_r"] = pairs.pearson;
  outcome.values[name + "_rho"] = pairs.spearman;
  outcome.values[name + "_MSE"] = pairs.mean_squared_error;
  RunningMean mean;
  mean.add(100 * pairs.pearson);
  for (const Classification& each : found.classified) {
    outcome.values[fmt::format("{}_{}", name, each.name)] = 100 * each.accuracy();
    mean.add(100 * each.accuracy());
  }
  outcome.values[name] = mean.value();
}

Outcome train_skip_thoughts(const SkipThoughtsData& data, const TaskTrial& trial) {
  const SkipThoughtsTaskOptions& o = data.options;
  const SkipThoughts net = make_skip_thoughts(data, trial);
  const auto probed = [&](const SkipThoughts& encoder) {
    return probe(trial.setting.norm, data.probes, [&](const std::vector<Words>& sentences) {
      return sentence_vectors(encoder, data.vocabulary, sentences);
    });
  };
  Cluster alone;
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
             const double loss = word_nll(net, data.validation, alone);
             return Validation{loss, loss};
           },
       .test =
           [&](Outcome& outcome) {
             enter_probes(outcome, "test", probed(net));
             enter_probes(outcome, "untrained", probed(make_skip_thoughts(data, trial)));
           }},
      ba2016().task("skip_thoughts").validation(), trial.tested, trial.seen);
}

// All that can be said by words in common, and by how often the net's words stand in a class.
Outcome judge_by_words(const SkipThoughtsData& data) {
  ProbeResults found = naive_bayes_baseline(data.probes, &data.vocabulary);
  found.relatedness = overlap_baseline(data.probes).relatedness;
  Outcome outcome;
  enter_probes(outcome, "test", found);
  return outcome;
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
                            {"stretch", o.stretch}},
          .rate = o.rate,
          .steps = o.steps,
          .seconds = o.seconds,
          .train = [data](const TaskTrial& trial) { return train_skip_thoughts(*data, trial); },
          .baselines = {{"words_alone", [data] { return judge_by_words(*data); }}},
          .systems = ba2016().task("skip_thoughts").systems};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
