// Trains a Transformer encoder to classify sentences, as in Xu et al. 2019, section 2.2. With
// several seeds, also prints the spread of their accuracies.

#include <optional>

#include "problems/sentences.h"
#include "support/data_files.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/json.h"
#include "tapegrad/train/norm_flag.h"
#include "tapegrad/train/output.h"
#include "tapegrad/train/spread.h"
#include "tapegrad/train/trainer.h"

using namespace tapegrad;
using namespace tapegrad::problems;
using namespace tapegrad::support;

namespace {

struct ClassifyFlags : TrainerFlags {
  std::string task = "agreement", data;
  SentenceNet net;
  Index batch_tokens = 1024, epochs = 10, seeds = 1;
  std::uint64_t seed = 1;

  ClassifyFlags()
      : TrainerFlags("classify", "Trains a Transformer encoder to classify sentences.") {
    optimizer.learning_rate = 1e-3;
    optimizer.beta2 = 0.998;
    run_flags.keep_best = true;
    training("--task", task, "Task: agreement of verbs in drawn sentences, or a set of --data")
        .check(one_of({"agreement", "rt", "sst5", "trec"}));
    input("--data", data,
          data_help("the task's set", "sentence-classification/, rt-polaritydata/ or sst5/"));
    add_norm_flag(*this, net.norm, "Normalization");
    training("--norm-placement", net.placement, "Norms before sub-layers, or after residuals")
        .check(one_of({"pre", "post"}));
    training("--layers", net.layers, "Layers").check(between(1, 1000));
    training("--heads", net.heads, "Attention heads").check(between(1, 1 << 10));
    training("--channels", net.channels, "Channels of the residual stream")
        .check(between(4, 1 << 16));
    training("--hidden", net.hidden, "Channels within the feed-forward sub-layers")
        .check(between(1, 1 << 16));
    training("--batch-tokens", batch_tokens, "Words per step, including padding")
        .check(between(1, 1 << 24));
    length("--epochs", epochs, "Passes over the training set").check(between(1, 1 << 20));
    training("--dropout", net.dropout, "Share of values to drop in training")
        .check(between(0.0, 0.99));
    training("--seed", seed, "Seed of weights, order, dropout and drawn sentences");
    setting("--seeds", seeds, "Number of runs, with seeds from --seed on").check(between(1, 1000));
    optimizer.add_to(*this);
    run_flags.add_to(*this);
  }

  /// Throws FlagError for flags that conflict.
  void check() const {
    if (task == "agreement" && !data.empty())
      throw FlagError("--data", "--task agreement draws its sentences itself");
    if (task != "agreement" && data.empty())
      throw FlagError("--data", fmt::format("--task {} needs its directory", task));
    if (net.channels % net.heads != 0 || net.channels % 2 != 0)
      throw FlagError("--heads",
                      fmt::format("{} do not divide {} channels, or the number of channels is odd",
                                  net.heads, net.channels));
    if (seeds > 1 && (!run_flags.save.empty() || !run_flags.resume.empty() ||
                      run_flags.overfit_batch || run_flags.rewind > 0 || run_flags.fork > 0))
      throw FlagError("--seeds",
                      "several runs cannot be combined with --save, --resume, "
                      "--overfit-batch, --rewind or --fork");
  }
};

double accuracy(Cluster& cluster, const TransformerClassifier& net,
                const std::vector<SentenceBatch>& batches) {
  const auto sums = cluster.sums(std::ssize(batches), 2, [&](const Shard& shard) {
    double right = 0, all = 0;
    for (Index i = shard.begin; i < shard.end; ++i) {
      const auto& [words, lengths, labels] = batches[i];
      right += count_equal(argmax(net(words, lengths)), labels);
      all += labels.size();
    }
    return std::vector{right, all};
  });
  return sums[0] / sums[1];
}

using Sets = std::shared_ptr<const SentenceSets>;

std::unique_ptr<SentenceTrainee> make_learner(const ClassifyFlags& flags, const Sets& sets,
                                              std::uint64_t seed) {
  Random random(seed);
  return std::make_unique<SentenceTrainee>(sets, flags.net, flags.batch_tokens, seed, random);
}

/// Trains with one seed. Returns the exit code of the program.
int train(const ClassifyFlags& flags, const Sets& sets, SentenceTrainee& learner,
          std::uint64_t seed, Trainer& trainer, double& test_accuracy) {
  const auto accuracy_on = [&](const std::vector<Sentence>& sentences) {
    return accuracy(trainer.cluster(), learner.classifier(), learner.batches(sentences));
  };
  const auto steps = RunSteps::epochs(flags.epochs, learner.per_epoch());
  return trainer.train(
      {.net = learner.net(),
       .steps = steps,
       .loss = learner.batch_loss(),
       .seed = seed,
       .description =
           fmt::format("model: {} words, {} parameters; {} steps of up to {} words, seed {}\n",
                       learner.vocabulary().count(), parameter_count(learner.classifier()),
                       steps.total, flags.batch_tokens, seed),
       .validate =
           [&] {
             return Metrics{{"validation_accuracy", accuracy_on(sets->validation)}};
           },
       .metric = {.name = "validation_accuracy", .higher_is_better = true},
       .test =
           [&] {
             test_accuracy = accuracy_on(sets->test);
             write_result(fmt::format("test accuracy {:.4f}\n", test_accuracy));
             return Metrics{{"test_accuracy", test_accuracy}};
           }});
}

/// Runs the program with its flags; returns the exit code.
int run_classify(const ClassifyFlags& flags, Trainer& trainer) {
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

  const std::string& log_dir = flags.run_flags.log_dir;
  const auto seed_at = [&](Index i) { return flags.seed + i; };
  if (!log_dir.empty())
    for (Index i = 0; i < flags.seeds; ++i) expect_no_link(seed_directory(log_dir, seed_at(i)));
  std::optional<RunLog> log;  // of all seeds
  if (!flags.run_flags.dry_run) log.emplace(log_dir, flags.values(), 0);
  std::vector<double> accuracies;
  for (Index i = 0; i < flags.seeds; ++i) {
    const std::uint64_t seed = seed_at(i);
    if (!log_dir.empty()) trainer.log_to(seed_directory(log_dir, seed));
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
  ClassifyFlags flags;
  return flags.run(argc, argv, [&](Trainer& trainer) { return run_classify(flags, trainer); });
}
