// Trains a Transformer encoder to classify sentences, as in Xu et al. 2019, section 2.2. With
// several seeds, also prints the spread of their accuracies.

#include <optional>

#include "tapegrad/tapegrad.h"
#include "tapegrad/train/output.h"
#include "tapegrad/train/spread.h"
#include "tapegrad/train/trainer.h"
#include "trainers/classify_flags.h"

using namespace tapegrad;
using namespace tapegrad::problems;
using namespace tapegrad::support;

namespace {

double accuracy(Cluster& cluster, const TransformerClassifier& net,
                const std::vector<SentenceBatch>& batches) {
  const auto sums = cluster.sums(static_cast<Index>(batches.size()), 2, [&](const Shard& shard) {
    double right = 0, all = 0;
    for (Index i = shard.begin; i < shard.end; ++i) {
      const auto& [words, lengths, labels] = batches[static_cast<std::size_t>(i)];
      right += static_cast<double>(count_equal(argmax(net(words, lengths)), labels));
      all += static_cast<double>(labels.size());
    }
    return std::vector{right, all};
  });
  return sums[0] / sums[1];
}

using Sets = std::shared_ptr<const SentenceSets>;

std::unique_ptr<SentenceLearner> make_learner(const ClassifyFlags& flags, const Sets& sets,
                                              std::uint64_t seed) {
  Random random(seed);
  return std::make_unique<SentenceLearner>(sets, flags.net, flags.batch_tokens, seed, random);
}

/// Trains with one seed. Returns the exit code of the program.
int train(const ClassifyFlags& flags, const Sets& sets, SentenceLearner& learner,
          std::uint64_t seed, const Trainer& trainer, double& test_accuracy) {
  const auto accuracy_on = [&](const std::vector<Sentence>& sentences) {
    return accuracy(trainer.cluster(), learner.classifier(), learner.batches(sentences));
  };
  const auto steps = RunSteps::epochs(flags.epochs, learner.per_epoch());
  return trainer.train({.net = learner.net(),
                        .steps = steps,
                        .loss = learner.batch_loss(),
                        .seed = seed,
                        .description = fmt::format(
                            "model: {} words, {} parameters; {} steps of up to {} words, seed {}\n",
                            learner.vocabulary().count(), parameter_count(learner.classifier()),
                            steps.total, flags.batch_tokens, seed),
                        .evaluate =
                            [&] {
                              return Json{{"validation_accuracy", accuracy_on(sets->validation)}};
                            },
                        .measure = {.metric = "validation_accuracy", .higher_is_better = true},
                        .finish =
                            [&](const Run&) {
                              test_accuracy = accuracy_on(sets->test);
                              write_result(fmt::format("test accuracy {:.4f}\n", test_accuracy));
                              return Json{{"test_accuracy", test_accuracy}};
                            }});
}

/// Runs the program with its flags; returns the exit code.
int run_classify(ClassifyFlags& flags, Flags& all) {
  Trainer trainer(all, flags.run, flags.optimizer);
  flags.check();
  const auto sets = std::make_shared<const SentenceSets>(
      flags.data.empty() ? draw_sentence_sets(flags.seed)
                         : read_sentence_sets(flags.task, flags.data, flags.batch_tokens));
  trainer.uses_data(sets->source, sets->digest());
  write_result(fmt::format(
      "data: {}; {} sentences to train on, {} for validation, {} for the test, {} classes\n",
      sets->source, sets->train.size(), sets->validation.size(), sets->test.size(), sets->classes));
  double test_accuracy = 0;
  if (flags.seeds == 1)
    return train(flags, sets, *make_learner(flags, sets, flags.seed), flags.seed, trainer,
                 test_accuracy);

  std::optional<RunLog> log;  // of all seeds
  if (!flags.run.dry_run) log.emplace(flags.run.log_dir, all.values(), 0);
  std::vector<double> accuracies;
  for (Index i = 0; i < flags.seeds; ++i) {
    const std::uint64_t seed = flags.seed + static_cast<std::uint64_t>(i);
    if (!flags.run.log_dir.empty()) trainer.log_to(seed_directory(flags.run.log_dir, seed));
    const auto learner = make_learner(flags, sets, seed);
    if (log) log->start();
    if (const int code = train(flags, sets, *learner, seed, trainer, test_accuracy); code != 0)
      return code;
    accuracies.push_back(test_accuracy);
  }
  if (!log) return 0;
  const auto [mean, deviation] = Spread(accuracies);
  write_result(fmt::format("test accuracy of {} seeds: mean {:.4f}, standard deviation {:.4f}\n",
                           flags.seeds, mean, deviation));
  log->summary({{"test_accuracy", mean},
                {"test_accuracy_deviation", deviation},
                {"test_accuracies", accuracies}});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags("classify", "Trains a Transformer encoder to classify sentences.");
  ClassifyFlags classify;
  classify.add_to(flags);
  return flags.run(argc, argv, [&] { return run_classify(classify, flags); });
}
