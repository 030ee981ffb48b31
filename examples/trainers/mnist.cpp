// Teaches a network to read handwritten digits: those of MNIST, any set in its format, or digits
// that the program draws itself.

#include <memory>

#include "support/image_sets.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/norm_flag.h"
#include "tapegrad/train/output.h"
#include "tapegrad/train/resume.h"
#include "tapegrad/train/run.h"
#include "tapegrad/train/training.h"

using namespace tapegrad;
using namespace tapegrad::support;

namespace {

struct MnistFlags {
  std::string model = "mlp";
  std::vector<Index> hidden{1000, 1000};
  std::string norm = "none";
  double dropout = 0;
  std::string data;
  Index epochs = 5;
  Index batch_size = 128;
  std::uint64_t seed = 1;
  OptimizerFlags optimizer;
  RunFlags run;

  void add_to(Flags& flags) {
    flags.training("--model", model, "Network: linear layers or convolutions")
        ->check(CLI::IsMember({"mlp", "cnn"}));
    flags.training("--hidden", hidden, "Sizes of the hidden layers of the mlp")
        ->check(between(1, 1 << 20));
    add_norm_flag(flags, norm, "Normalization before the activations");
    flags.training("--dropout", dropout, "Share of hidden units to drop in training")
        ->check(between(0.0, 0.99));
    flags.setting("--data", data, "Directory of MNIST's four files; without it, draws digits")
        ->envname("TAPEGRAD_MNIST");
    flags.training("--epochs", epochs, "Passes over the training set")->check(between(1, 1 << 20));
    flags.training("--batch-size", batch_size, "Images in a step")->check(between(1, 1 << 20));
    optimizer.add_to(flags);
    flags.training("--seed", seed, "Seed of weights, order, dropout and drawn digits");
    run.add_to(flags);
  }
};

Layer make_net(const MnistFlags& flags, const ImageSets& sets, Random& random) {
  const NormSpec norm(flags.norm);
  const bool images_only = norm.kind == NormKind::instance;
  if (flags.model == "cnn")
    return ConvNet(random, {norm, images_only ? NormSpec() : norm, flags.dropout});
  std::vector<Index> sizes{sets.train.height * sets.train.width};
  sizes.insert(sizes.end(), flags.hidden.begin(), flags.hidden.end());
  sizes.push_back(sets.classes);
  return Mlp(sizes, random, {norm, flags.dropout});
}

struct Score {
  double loss = 0;      // mean, in nats
  double accuracy = 0;  // share of images named rightly
};

Score evaluate(const Layer& net, const ImageSet& set) {
  Score score;
  for (const auto& [images, labels] : Batches(set, 1000)) {
    const Tensor logits = net(images);
    const Indices guesses = argmax(logits);
    const double share = static_cast<double>(labels.size()) / static_cast<double>(set.count());
    score.loss += share * cross_entropy(logits, labels).item();
    for (Index i = 0; i < labels.size(); ++i)
      if (guesses.data()[i] == labels.data()[i]) score.accuracy += 1;
  }
  score.accuracy /= static_cast<double>(set.count());
  return score;
}

/// A network in training.
struct Trainer {
  const MnistFlags& flags;
  Random random;  // weights, then dropout
  Layer net;
  Training updates;

  Trainer(const MnistFlags& f, const ImageSets& sets, Index steps)
      : flags(f),
        random(f.seed),
        net(make_net(f, sets, random)),
        updates(f.optimizer, f.run, fields(net), steps) {}

  /// One step on one batch; returns its loss.
  double step(const Tensor& images, const Indices& labels) {
    return updates.step([&] { return cross_entropy(net(images, training(random)), labels); });
  }

  /// The batches of an epoch from `first` on, in an order that follows from seed and epoch.
  Batches batches(const ImageSet& set, Index epoch, Index first) const {
    Random order = Random(flags.seed).stream(0).stream(static_cast<std::uint64_t>(epoch));
    return Batches(set, flags.batch_size, order, first);
  }
  Batch first_batch(const ImageSet& set) const { return *batches(set, 0, 0).begin(); }

  /// Trains until the run is over.
  void train(const ImageSets& sets, Run& run) {
    while (!run.over()) {
      for (const auto& [images, labels] : batches(sets.train, run.epoch(), run.step_of_epoch())) {
        run.step(step(images, labels), updates.optimizer().rate());
        if (run.interrupted()) break;
      }
      if (run.step_of_epoch() == 0) {
        const Score score = evaluate(net, sets.validation);
        run.report({{"validation_loss", score.loss}, {"validation_accuracy", score.accuracy}});
      }
    }
  }
};

/// Refuses flags that do not go together. Throws CLI::ValidationError.
void check(const MnistFlags& flags, const Flags& given, const ImageSets& sets) {
  if (flags.batch_size > sets.train.count())
    throw CLI::ValidationError("--batch-size",
                               fmt::format("{} is more than the {} training images of {}",
                                           flags.batch_size, sets.train.count(), sets.source));
  if (flags.model != "cnn") return;
  if (given.given("--hidden"))
    throw CLI::ValidationError("--hidden", "sizes layers of --model mlp; the cnn has its own");
  if (sets.train.height != 28 || sets.train.width != 28 || sets.classes != 10)
    throw CLI::ValidationError(
        "--model",
        fmt::format("the cnn reads images of 28 x 28 in 10 classes; {} has {} x {} in {}",
                    sets.source, sets.train.height, sets.train.width, sets.classes));
}

/// What the program does with its flags; returns its exit code.
int run_mnist(MnistFlags& flags, Flags& all) {
  const std::string& resume = flags.run.resume;
  const auto saved = notes_to_resume(resume, all);
  set_threads(flags.run.threads);
  const ImageSets sets =
      flags.data.empty() ? draw_image_sets(flags.seed) : read_image_sets(flags.data);
  check(flags, all, sets);
  const std::string digest = sets.digest();
  expect_same_data(saved, resume, sets.source, digest);

  const Index per_epoch = Batches(sets.train, flags.batch_size).count();
  const RunSteps steps{.total = flags.epochs * per_epoch, .per_epoch = per_epoch};
  Trainer trainer(flags, sets, steps.total);
  Checkpoint checkpoint{fields(trainer.net),
                        &trainer.updates.optimizer(),
                        {{"training", &trainer.random}},
                        all.training_values()};
  checkpoint.notes["data"] = digest;
  const RunState state = resumed_state(saved, resume, steps);
  if (!resume.empty()) {
    load_checkpoint(resume, checkpoint);
    trainer.updates.resume(resume, state.steps);
  }

  const Index count = parameter_count(trainer.net);
  write_result(fmt::format("data: {}; {} images to train on, {} for validation, {} for the test\n",
                           sets.source, sets.train.count(), sets.validation.count(),
                           sets.test.count()));
  write_result(fmt::format("model: {} with {} parameters; {} steps of {} images\n", flags.model,
                           count, steps.total, flags.batch_size));
  if (flags.run.dry_run) {
    const Batch batch = trainer.first_batch(sets.train);
    dry_run(all, checkpoint.net, [&] { return trainer.step(batch.images, batch.labels); });
    return 0;
  }

  Run run(flags.run, all.values(), steps, state);
  run.saves([&] { trainer.updates.write_probe(); });
  run.saves_checkpoint([&] { return checkpoint; });
  if (flags.run.overfit_batch) {
    const Batch batch = trainer.first_batch(sets.train);
    overfit(run, trainer.updates.optimizer(),
            [&] { return trainer.step(batch.images, batch.labels); });
  } else {
    trainer.train(sets, run);
  }
  trainer.updates.print_profile();
  if (run.interrupted()) {
    run.stop();
    return exit_interrupted;
  }
  const Score score = evaluate(trainer.net, sets.test);
  write_result(fmt::format("test accuracy {:.4f}, test loss {:.4f}\n", score.accuracy, score.loss));
  run.finish({{"parameters", count}, {"test_loss", score.loss}, {"test_accuracy", score.accuracy}});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags("mnist", "Teaches a network to read handwritten digits.");
  MnistFlags mnist;
  mnist.add_to(flags);
  return flags.run(argc, argv, [&] { return run_mnist(mnist, flags); });
}
