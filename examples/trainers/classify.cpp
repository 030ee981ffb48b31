// Teaches a Transformer encoder to classify sentences, as in Xu et al. 2019, section 2.2; with
// several seeds, says how far their accuracies spread.

#include <cmath>
#include <memory>

#include "support/spread.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/norm_flag.h"
#include "tapegrad/train/output.h"
#include "tapegrad/train/resume.h"
#include "tapegrad/train/run.h"
#include "tapegrad/train/training.h"
#include "trainers/sentence_sets.h"

using namespace tapegrad;
using namespace tapegrad::support;

namespace {

struct ClassifyFlags {
  std::string task = "agreement";
  std::string data;
  std::string norm = "layer";
  std::string placement = "pre";
  Index layers = 4;
  Index heads = 4;
  Index channels = 128;
  Index hidden = 128;
  Index batch_tokens = 1024;
  Index epochs = 10;
  double dropout = 0.2;
  std::uint64_t seed = 1;
  Index seeds = 1;
  OptimizerFlags optimizer{.rate = 1e-3, .beta2 = 0.998};
  RunFlags run;

  void add_to(Flags& flags) {
    flags
        .training("--task", task, "What to classify: verbs of drawn sentences, or a set of --data")
        ->check(CLI::IsMember({"agreement", "rt", "sst5", "trec"}));
    flags.setting("--data", data, "Directory of the task's files");
    add_norm_flag(flags, norm, "Normalization");
    flags.training("--norm-placement", placement, "Before each sub-layer, or after its residual")
        ->check(CLI::IsMember({"pre", "post"}));
    flags.training("--layers", layers, "Layers")->check(between(1, 1000));
    flags.training("--heads", heads, "Attention heads")->check(between(1, 1 << 10));
    flags.training("--channels", channels, "Channels of a word")->check(between(4, 1 << 16));
    flags.training("--hidden", hidden, "Channels within the feed-forward sub-layers")
        ->check(between(1, 1 << 16));
    flags.training("--batch-tokens", batch_tokens, "Words in a step, padding included")
        ->check(between(1, 1 << 24));
    flags.training("--epochs", epochs, "Passes over the training set")->check(between(1, 1 << 20));
    flags.training("--dropout", dropout, "Share of values to drop in training")
        ->check(between(0.0, 0.99));
    flags.training("--seed", seed, "Seed of weights, order, dropout and drawn sentences");
    flags.setting("--seeds", seeds, "Trainings, with that many seeds from --seed on")
        ->check(between(1, 1000));
    optimizer.add_to(flags);
    run.add_to(flags);
  }

  /// Refuses flags that do not go together. Throws CLI::ValidationError.
  void check() const {
    if (task == "agreement" && !data.empty())
      throw CLI::ValidationError("--data", "--task agreement draws its sentences itself");
    if (task != "agreement" && data.empty())
      throw CLI::ValidationError("--data", fmt::format("--task {} needs its directory", task));
    if (channels % heads != 0 || channels % 2 != 0)
      throw CLI::ValidationError(
          "--heads",
          fmt::format("{} do not divide {} channels, or these are odd", heads, channels));
    if (seeds > 1 && (!run.save.empty() || !run.resume.empty() || run.overfit_batch))
      throw CLI::ValidationError(
          "--seeds", "several trainings go with none of --save, --resume and --overfit-batch");
  }

  TransformerModelOptions model() const {
    return {.stack = {.layers = layers,
                      .heads = heads,
                      .channels = channels,
                      .feed_forward = hidden,
                      .activation = Activation::relu,
                      .norm = NormSpec(norm),
                      .placement = placement == "pre" ? NormPlacement::pre : NormPlacement::post,
                      .dropout = dropout},
            .positions = Positions::sinusoidal};
  }
};

double accuracy(const TransformerClassifier& net, const std::vector<SentenceBatch>& batches) {
  Index right = 0, all = 0;
  for (const auto& [words, lengths, labels] : batches) {
    const Indices guesses = argmax(net(words, lengths));
    for (Index i = 0; i < labels.size(); ++i) right += guesses.data()[i] == labels.data()[i];
    all += labels.size();
  }
  return static_cast<double>(right) / static_cast<double>(all);
}

/// The test accuracy of the epoch that was best on the validation set.
struct Best {
  double validation = -1, test = 0;

  std::string text() const { return Json({validation, test}).dump(); }
  static std::optional<Best> parse(const Json& note) {
    const auto is_accuracy = [](const Json& value) {
      return value.is_number() && value >= 0 && value <= 1;
    };
    if (!note.is_array() || note.size() != 2 || !is_accuracy(note[1])) return {};
    if (!is_accuracy(note[0]) && note[0] != Best().validation) return {};
    return Best{note[0].get<double>(), note[1].get<double>()};
  }
};

/// A classifier in training with one seed.
struct Trainer {
  const ClassifyFlags& flags;
  const SentenceSets& sets;
  std::uint64_t seed;
  Random random;  // weights, then dropout
  Vocabulary vocabulary;
  TransformerClassifier net;
  Best best;
  Training updates;

  Trainer(const ClassifyFlags& f, const RunFlags& run, const SentenceSets& s,
          std::uint64_t chosen_seed)
      : flags(f),
        sets(s),
        seed(chosen_seed),
        random(seed),
        vocabulary(sets.train),
        net(vocabulary.count(), sets.classes, random, f.model()),
        updates(f.optimizer, run, fields(net), steps()) {}

  Index steps_of_epoch() const { return static_cast<Index>(batches(0).size()); }
  Index steps() const { return flags.epochs * steps_of_epoch(); }

  /// The batches of an epoch, in an order that follows from seed and epoch. Their number does not.
  std::vector<SentenceBatch> batches(Index epoch) const {
    Random order = Random(seed).stream(0).stream(static_cast<std::uint64_t>(epoch));
    return sentence_batches(sets.train, vocabulary, flags.batch_tokens, &order);
  }

  double step(const SentenceBatch& batch) {
    return updates.step([&] {
      return cross_entropy(net(batch.words, batch.lengths, training(random)), batch.labels);
    });
  }

  /// Looks at validation and test set at the end of an epoch.
  Json evaluate() {
    const auto score = [&](const std::vector<Sentence>& sentences) {
      return accuracy(net, sentence_batches(sentences, vocabulary, flags.batch_tokens));
    };
    const double validation = score(sets.validation);
    if (validation > best.validation) best = {validation, score(sets.test)};
    return {{"validation_accuracy", validation}};
  }

  void train(Run& run) {
    while (!run.over()) {
      const std::vector<SentenceBatch> epoch = batches(run.epoch());
      for (auto i = static_cast<std::size_t>(run.step_of_epoch()); i < epoch.size(); ++i) {
        run.step(step(epoch[i]), updates.optimizer().rate());
        if (run.interrupted()) break;
      }
      if (run.step_of_epoch() == 0) run.report(evaluate());
    }
  }
};

/// One training. Returns nothing if it was interrupted.
std::optional<double> run_seed(const ClassifyFlags& flags, const Flags& all,
                               const SentenceSets& sets, std::uint64_t seed,
                               const std::map<std::string, std::string>& resumed) {
  RunFlags run_flags = flags.run;
  if (flags.seeds > 1 && !run_flags.log_dir.empty())
    run_flags.log_dir = seed_directory(flags.run.log_dir, seed);
  Trainer trainer(flags, run_flags, sets, seed);
  const RunSteps steps{.total = trainer.steps(), .per_epoch = trainer.steps_of_epoch()};
  Checkpoint checkpoint{fields(trainer.net),
                        &trainer.updates.optimizer(),
                        {{"training", &trainer.random}},
                        all.training_values()};
  checkpoint.notes["data"] = sets.digest();
  const RunState state = resumed_state(resumed, flags.run.resume, steps);
  if (!flags.run.resume.empty()) {
    load_checkpoint(flags.run.resume, checkpoint);
    trainer.best = parsed_note(resumed, "best", flags.run.resume, Best::parse);
    trainer.updates.resume(flags.run.resume, state.steps);
  }
  write_result(fmt::format("model: {} words, {} parameters; {} steps of up to {} words, seed {}\n",
                           trainer.vocabulary.count(), parameter_count(trainer.net), steps.total,
                           flags.batch_tokens, seed));
  if (flags.run.dry_run) {
    dry_run(all, checkpoint.net, [&] { return trainer.step(trainer.batches(0).front()); });
    return 0;
  }

  Run run(run_flags, all.values(), steps, state);
  run.saves([&] { trainer.updates.write_probe(); });
  run.saves_checkpoint([&] {
    checkpoint.notes["best"] = trainer.best.text();
    return checkpoint;
  });
  if (flags.run.overfit_batch) {
    const SentenceBatch batch = trainer.batches(0).front();
    overfit(run, trainer.updates.optimizer(), [&] { return trainer.step(batch); });
    trainer.evaluate();
  } else {
    trainer.train(run);
  }
  trainer.updates.print_profile();
  if (run.interrupted()) {
    run.stop();
    return {};
  }
  write_result(
      fmt::format("test accuracy {:.4f} after the epoch that was best in validation ({:.4f})\n",
                  trainer.best.test, trainer.best.validation));
  run.finish({{"parameters", parameter_count(trainer.net)},
              {"validation_accuracy", trainer.best.validation},
              {"test_accuracy", trainer.best.test}});
  return trainer.best.test;
}

/// What the program does with its flags; returns its exit code.
int run_classify(ClassifyFlags& flags, Flags& all) {
  const auto resumed = notes_to_resume(flags.run.resume, all);
  flags.check();
  set_threads(flags.run.threads);
  const SentenceSets sets = flags.data.empty() ? draw_sentence_sets(flags.seed)
                                               : read_sentence_sets(flags.task, flags.data);
  expect_same_data(resumed, flags.run.resume, sets.source, sets.digest());
  write_result(fmt::format(
      "data: {}; {} sentences to train on, {} for validation, {} for the test, {} classes\n",
      sets.source, sets.train.size(), sets.validation.size(), sets.test.size(), sets.classes));
  std::optional<RunLog> log;  // of all seeds
  if (flags.seeds > 1 && !flags.run.dry_run)
    log.emplace(flags.run.log_dir, all.values(), 0).start();
  std::vector<double> accuracies;
  for (Index i = 0; i < flags.seeds; ++i) {
    const auto found =
        run_seed(flags, all, sets, flags.seed + static_cast<std::uint64_t>(i), resumed);
    if (!found) return exit_interrupted;
    accuracies.push_back(*found);
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
  Flags flags("classify", "Teaches a Transformer encoder to classify sentences.");
  ClassifyFlags classify;
  classify.add_to(flags);
  return flags.run(argc, argv, [&] { return run_classify(classify, flags); });
}
