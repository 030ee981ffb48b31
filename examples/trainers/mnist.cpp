// Trains a network to read handwritten digits: MNIST, any set in its format, or digits
// that the program draws itself.

#include <numeric>

#include "support/data_files.h"
#include "support/image_sets.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/norm_flag.h"
#include "tapegrad/train/output.h"
#include "tapegrad/train/trainer.h"

using namespace tapegrad;
using namespace tapegrad::support;

namespace {

struct MnistFlags : TrainerFlags {
  std::string model = "mlp";
  std::vector<Index> hidden{1000, 1000};
  std::string norm = "none";
  double dropout = 0;
  std::string data;
  Index epochs = 5;
  Index batch_size = 128;
  std::uint64_t seed = 1;

  MnistFlags() : TrainerFlags("mnist", "Trains a network to read handwritten digits.") {
    training("--model", model, "Network: linear layers or convolutions")
        .check(one_of({"mlp", "cnn"}));
    training("--hidden", hidden, "Sizes of the hidden layers of the mlp")
        .check(between(1, 1 << 20));
    add_norm_flag(*this, norm, "Normalization before the activations");
    training("--dropout", dropout, "Share of hidden units to drop in training")
        .check(between(0.0, 0.99));
    input("--data", data, data_help("MNIST", "mnist/") + "; without it, draws digits")
        .environment("TAPEGRAD_MNIST");
    length("--epochs", epochs, "Passes over the training set").check(between(1, 1 << 20));
    training("--batch-size", batch_size, "Images per step").check(between(1, 1 << 20));
    optimizer.add_to(*this);
    training("--seed", seed, "Seed of weights, order, dropout and drawn digits");
    run_flags.add_to(*this);
  }
};

Layer make_net(const MnistFlags& flags, const ImageSets& sets, Random& random) {
  const NormSpec norm(flags.norm);
  const NormSpec hidden = norm.method->needs_positions ? "none" : norm;
  if (flags.model == "cnn") return ConvNet(random, {norm, hidden, flags.dropout});
  std::vector<Index> sizes{sets.train.height * sets.train.width};
  sizes.insert(sizes.end(), flags.hidden.begin(), flags.hidden.end());
  sizes.push_back(sets.classes);
  return Mlp(sizes, random, {norm, flags.dropout});
}

struct Score {
  double loss = 0;      // mean, in nats
  double accuracy = 0;  // share of images classified correctly
};

Score evaluate(Cluster& cluster, const Layer& net, const ImageSet& set) {
  constexpr Index most = 1000;  // images at a time
  const auto sums = cluster.sums(set.count(), 2, [&](const Shard& shard) {
    double loss = 0, right = 0;
    for (Index begin = shard.begin; begin < shard.end; begin += most) {
      std::vector<Index> chosen(std::min(most, shard.end - begin));
      std::iota(chosen.begin(), chosen.end(), begin);
      const auto [images, labels] = set.batch(chosen);
      const Tensor logits = net(images);
      loss += static_cast<double>(labels.size()) * cross_entropy(logits, labels).item();
      right += count_equal(argmax(logits), labels);
    }
    return std::vector{loss, right};
  });
  const double count = set.count();
  return {sums[0] / count, sums[1] / count};
}

/// Throws FlagError for flags that conflict.
void check(const MnistFlags& flags, const ImageSets& sets) {
  if (flags.batch_size > sets.train.count())
    throw FlagError("--batch-size", fmt::format("{} is more than the {} training images of {}",
                                                flags.batch_size, sets.train.count(), sets.source));
  if (flags.model != "cnn") return;
  if (flags.given("--hidden"))
    throw FlagError("--hidden", "sizes layers of --model mlp; the cnn has its own");
  if (sets.train.height != 28 || sets.train.width != 28 || sets.classes != 10)
    throw FlagError(
        "--model",
        fmt::format("the cnn reads images of 28 x 28 in 10 classes; {} has {} x {} in {}",
                    sets.source, sets.train.height, sets.train.width, sets.classes));
}

/// Runs the program with its flags; returns the exit code.
int run_mnist(const MnistFlags& flags, Trainer& trainer) {
  const ImageSets sets =
      flags.data.empty() ? draw_image_sets(flags.seed) : read_image_sets(flags.data);
  check(flags, sets);
  trainer.uses_data(sets.source, sets.digest());

  Random random(flags.seed);
  const Layer net = make_net(flags, sets, random);
  EpochBatches batches(sets.train, flags.batch_size, flags.seed);
  const auto steps = RunSteps::epochs(flags.epochs, batches.per_epoch());
  const auto rows = [&](Index step) { return batches.at(step).labels.size(); };
  const auto loss = [&](Index step, const Shard& shard, Random& masks) {
    const auto& [images, labels] = batches.at(step);
    const Tensor inputs = named(part(images, shard.begin, shard.end), "images");
    return cross_entropy(net(inputs, training(masks)),
                         named(part(labels, shard.begin, shard.end), "labels"));
  };
  const auto validate = [&]() -> Metrics {
    const Score score = evaluate(trainer.cluster(), net, sets.validation);
    return {{"validation_loss", score.loss}, {"validation_accuracy", score.accuracy}};
  };
  const auto test = [&]() -> Metrics {
    const Score score = evaluate(trainer.cluster(), net, sets.test);
    write_result(
        fmt::format("test accuracy {:.4f}, test loss {:.4f}\n", score.accuracy, score.loss));
    return {{"test_loss", score.loss}, {"test_accuracy", score.accuracy}};
  };
  return trainer.train(
      {.net = fields(net),
       .steps = steps,
       .loss = {rows, loss},
       .seed = flags.seed,
       .description =
           fmt::format("data: {}; {} images to train on, {} for validation, {} for the test\n"
                       "model: {} with {} parameters; {} steps of {} images\n",
                       sets.source, sets.train.count(), sets.validation.count(), sets.test.count(),
                       flags.model, parameter_count(net), steps.total, flags.batch_size),
       .validate = validate,
       .test = test});
}

}  // namespace

int main(int argc, char** argv) {
  MnistFlags flags;
  return flags.run(argc, argv, [&](Trainer& trainer) { return run_mnist(flags, trainer); });
}
