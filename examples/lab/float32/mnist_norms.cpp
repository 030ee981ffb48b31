// Normalizations on handwritten digits: batches large and small (Ba et al. 2016, section 6.6 and
// figure 6), the systems of Xu et al. 2019 on a convolutional network (the MNIST column of its
// tables 1 to 4), and the first epoch of that network (Ba et al. 2016, section 6.7).

#include <algorithm>
#include <cmath>

#include "lab/comparison.h"
#include "lab/registry.h"
#include "lab/report.h"
#include "lab/verdict.h"
#include "support/image_sets.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::support;

namespace {

constexpr Index measures = 20;            // measurements of the mlp in a training
constexpr Index small_batch_updates = 5;  // with batches of 4, per update with batches of 128

struct MnistNormsFlags {
  ComparisonFlags comparison{.seeds = least_seeds};
  Index updates = 100;
  Index epochs = 3;
  Index limit = 2000;
  std::string data;
  bool quiet = false;

  void add_to(Flags& flags) {
    comparison.add_to(flags, 2);
    flags
        .setting("--updates", updates,
                 "Updates of the mlp with batches of 128; five times as many with batches of 4")
        ->check(between(20, 1 << 30));
    flags.setting("--epochs", epochs, "Epochs of the cnn whose accuracy is measured")
        ->check(between(1, 1 << 20));
    flags.setting("--limit", limit, "Training images of the cnn; 0: all")->check(not_negative());
    flags.setting("--data", data, "Directory of MNIST's four files; without it, draws digits")
        ->envname("TAPEGRAD_MNIST")
        ->check(file_name());
    flags.setting("--quiet", quiet, "No progress on standard error");
  }

  /// Throws CLI::ValidationError for invalid values.
  void check() const {
    if (updates % measures != 0)
      throw CLI::ValidationError(
          "--updates",
          fmt::format("{} is not a multiple of {}, the points of a curve", updates, measures));
  }
};

/// A network in training.
struct Trainer {
  Random random;
  Layer net;
  Adam adam;

  template <class Make>
  Trainer(const Trial& trial, const Make& make)
      : random(trial.weights()), net(make(random)), adam(parameters(net)) {}

  /// Returns the loss of the batch.
  double step(const Batch& batch) {
    const Tape tape;
    const Tensor loss = cross_entropy(net(batch.images, training(random)), batch.labels);
    adam.step(grad(loss, adam.parameters()));
    return loss.item();
  }
};

/// The mean training loss of a curve from its point `first` on.
double mean_loss(const std::vector<CurvePoint>& curve, Index first) {
  double sum = 0, count = 0;
  for (auto point = curve.begin() + first; point != curve.end(); ++point)
    sum += point->training, ++count;
  return sum / count;
}

/// Adds 100 for each image that the net misclassifies; returns the mean of the added values.
double add_errors(std::vector<double>& percents, const Layer& net, const ImageSet& set) {
  const std::vector<double> wrong = misclassified(net, set);
  percents.resize(wrong.size());
  double sum = 0;
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    percents[i] += 100 * wrong[i];
    sum += wrong[i];
  }
  return 100 * sum / static_cast<double>(wrong.size());
}

// Large and small batches.

/// 784-1000-1000-10 of Ba et al. 2016, section 6.6: batch normalization of all layers, the output
/// included; layer normalization of the hidden ones.
Layer make_mlp(const std::string& name, Random& random) {
  const bool batch = name == "batch";
  const NormSpec norm = batch ? "batch:unbiased=1" : NormSpec(name);
  return Sequential{Flatten(), Linear(784, 1000, random),  Norm(norm, 1000),
                    relu,      Linear(1000, 1000, random), Norm(norm, 1000),
                    relu,      Linear(1000, 10, random),   Norm(batch ? norm : NormSpec(), 10)};
}

const Metric late_loss{.value = "late_loss"};    // over the last half of the updates
const Metric whole_loss{.value = "whole_loss"};  // over all
// Over the last quarter.
const Metric test_error{.value = "test_error", .worst = 100, .of_items = true};

// The convolutional network.

constexpr Index cnn_batch = 32;
const Metric first_epoch_loss{.value = "first_epoch_loss"};
const Metric test_accuracy{
    .value = "test_accuracy", .higher_is_better = true, .worst = 0, .of_items = true};

/// The hidden layer has no positions for instance normalization.
Layer make_cnn(const std::string& norm, Random& random) {
  const NormSpec hidden = norm == "instance" ? NormSpec() : NormSpec(norm);
  return ConvNet(random, {.norm = NormSpec(norm), .hidden_norm = hidden});
}

/// Runs all trainings. The bar counts their steps.
class Laboratory {
 public:
  Laboratory(const MnistNormsFlags& flags, const ImageSets& sets, const Comparison& comparison)
      : flags_(flags),
        sets_(sets),
        comparison_(comparison),
        cnn_images_(first_images(sets.train, flags.limit)),
        watched_(first_images(sets.test, 500)),
        epoch_steps_((cnn_images_.count() + cnn_batch - 1) / cnn_batch),
        progress_(total_steps(), 0, flags.quiet || !comparison.is_first()) {}

  Index cnn_images() const { return cnn_images_.count(); }
  Index watched() const { return watched_.count(); }

  std::vector<Results> mlps(Index batch_size, Index updates) {
    return train(fmt::format("mlp_{}_", batch_size), {"none", "layer", "batch"}, updates,
                 {{"updates", updates}}, {late_loss, test_error},
                 [&](const std::string& norm, const Trial& trial) {
                   return train_mlp(norm, batch_size, updates, trial);
                 });
  }

  std::vector<Results> cnns(const std::vector<std::string>& norms, Index epochs) {
    return train(
        "cnn_", norms, epochs * epoch_steps_, {{"epochs", epochs}, {"images", cnn_images_.count()}},
        {first_epoch_loss, test_accuracy}, [&](const std::string& norm, const Trial& trial) {
          return train_cnn(norm, epochs, trial);
        });
  }

 private:
  /// Three mlps for both batch sizes, seven cnns to the end and three for one epoch.
  Index total_steps() const {
    return flags_.comparison.seeds * (3 * flags_.updates * (1 + small_batch_updates) +
                                      (7 * flags_.epochs + 3) * epoch_steps_);
  }

  /// Trains a network with each norm, after which its results are named.
  ///   steps: of each training   metrics: to print of each norm
  std::vector<Results> train(
      const std::string& network, const std::vector<std::string>& norms, Index steps,
      const Json& configuration, const std::vector<Metric>& metrics,
      const std::function<Outcome(const std::string& norm, const Trial& trial)>& train) {
    std::vector<System> systems;
    for (const std::string& norm : norms)
      systems.push_back({network + norm, configuration, [&](const Trial& trial) {
                           done_ = before_ + trial.number * steps;
                           return train(norm, trial);
                         }});
    std::vector<Results> results = comparison_.train(systems, [&](const Results& trained) {
      std::string line = trained.system + ":";
      for (const Metric& metric : metrics)
        line += fmt::format(" {} {},", metric.value, trained.spread(metric).to_string());
      progress_.line(fmt::format("{} {:.0f} s", line, progress_.seconds()));
    });
    before_ += std::ssize(norms) * flags_.comparison.seeds * steps;
    for (std::size_t i = 0; i < norms.size(); ++i) results[i].system = norms[i];
    return results;
  }

  Outcome train_mlp(const std::string& norm, Index batch_size, Index updates, const Trial& trial) {
    Trainer trainer(trial, [&](Random& random) { return make_mlp(norm, random); });
    Outcome outcome;
    const Index stretch = updates / measures;
    double sum = 0, late_errors = 0;
    Index done = 0;
    for (Index epoch = 0; done < updates; ++epoch) {
      Random shuffled = trial.batches().stream(static_cast<std::uint64_t>(epoch));
      for (const Batch& batch : Batches(sets_.train, batch_size, shuffled)) {
        const double loss = trainer.step(batch);
        sum += loss;
        progress_.step(++done_, loss);
        if (++done % stretch != 0) continue;
        const bool late = done > updates * 3 / 4;
        std::vector<double> unused;
        const double error = add_errors(late ? outcome.items : unused, trainer.net, watched_);
        if (late) late_errors += error;
        outcome.curve.push_back({done, sum / static_cast<double>(stretch), error});
        sum = 0;
        if (done == updates) break;
      }
    }
    outcome.values = {{late_loss.value, mean_loss(outcome.curve, measures / 2)},
                      {whole_loss.value, mean_loss(outcome.curve, 0)},
                      {test_error.value, late_errors / (measures / 4)}};
    for (double& item : outcome.items) item /= measures / 4;
    return outcome;
  }

  Outcome train_cnn(const std::string& norm, Index epochs, const Trial& trial) {
    Trainer trainer(trial, [&](Random& random) { return make_cnn(norm, random); });
    Outcome outcome;
    Index done = 0;
    for (Index epoch = 0; epoch < epochs; ++epoch) {
      Random shuffled = trial.batches().stream(static_cast<std::uint64_t>(epoch));
      for (const Batch& batch : Batches(cnn_images_, cnn_batch, shuffled)) {
        const double loss = trainer.step(batch);
        if (epoch == 0) outcome.curve.push_back({++done, loss});
        progress_.step(++done_, loss);
      }
    }
    const double error = add_errors(outcome.items, trainer.net, sets_.test);
    outcome.values = {{first_epoch_loss.value, mean_loss(outcome.curve, 0)},
                      {test_accuracy.value, 100 - error}};
    for (double& item : outcome.items) item = 100 - item;
    return outcome;
  }

  const MnistNormsFlags& flags_;
  const ImageSets& sets_;
  const Comparison& comparison_;
  ImageSet cnn_images_, watched_;
  Index epoch_steps_;
  Progress progress_;
  Index before_ = 0, done_ = 0;  // steps: of the networks before, and all
};

// As long as its part of the page: a table and one claim after another about the same trainings.
void batch_sizes(Report& report, Laboratory& laboratory, Index updates) {
  Table table{
      "The mlp: training loss over the last half of the updates, test error in percent "
      "over their last quarter",
      {"norm", "loss, batches of 128", "test error", "loss, batches of 4", "test error"},
      {}};
  std::vector<Results> results[2];  // batches of 128, and of 4
  for (const std::size_t small : {0, 1}) {
    const Index size = small == 1 ? 4 : 128;
    Diagram losses{fmt::format("Training loss, batches of {}", size), "updates", "nats", {}};
    Diagram errors{fmt::format("Test error, batches of {}", size), "updates", "percent", {}};
    results[small] = laboratory.mlps(size, small == 1 ? small_batch_updates * updates : updates);
    for (const Results& each : results[small]) {
      losses.series.push_back(mean_training_curve(each));
      errors.series.push_back(mean_validation_curve(each));
    }
    report.figure(fmt::format("loss_{}", size), losses);
    report.figure(fmt::format("error_{}", size), errors);
  }
  const auto& [large, small] = results;
  for (std::size_t i = 0; i < large.size(); ++i)
    table.rows.push_back({large[i].system, large[i].spread(late_loss).to_string(),
                          large[i].spread(test_error).to_string(2),
                          small[i].spread(late_loss).to_string(),
                          small[i].spread(test_error).to_string(2)});
  report.table(table);

  const Spread none = large[0].spread(whole_loss), layer = large[1].spread(whole_loss);
  report.claim(
      "With batches of 128 layer normalization learns faster than none: its training loss is lower "
      "on average over all updates, by more than both spreads.",
      fmt::format("{} against {}", layer.to_string(), none.to_string()),
      none.mean - layer.mean > none.deviation + layer.deviation);
  double worst = 0;
  for (const Results& each : large) worst = std::max(worst, each.spread(test_error).mean);
  report.claim("With batches of 128 all three learn: their test errors are below 15 %.",
               fmt::format("at most {:.2f} %", worst), worst < 15);
  const Spread layer_loss = small[1].spread(late_loss), batch_loss = small[2].spread(late_loss);
  report.claim(
      "With batches of 4 layer normalization is ahead of batch normalization in training: its "
      "training loss over the last half of the updates is lower by more than both spreads.",
      fmt::format("{} against {}", layer_loss.to_string(), batch_loss.to_string()),
      batch_loss.mean - layer_loss.mean > batch_loss.deviation + layer_loss.deviation);
  const double layer_rise = layer_loss.mean - large[1].spread(late_loss).mean;
  const double batch_rise = batch_loss.mean - large[2].spread(late_loss).mean;
  report.claim(
      "Small batches cost batch normalization more: from batches of 128 to batches of 4 its "
      "training loss rises by more than twice as much as that of layer normalization.",
      fmt::format("by {:.3f}, and by {:.3f}", batch_rise, layer_rise), batch_rise > 2 * layer_rise);
  report.published(
      "With batches of 4 layer normalization is ahead in test error, too, where running averages "
      "take the place of the noisy statistics (figure 6).",
      fmt::format("{:.2f} % against {:.2f} %", small[1].spread(test_error).mean,
                  small[2].spread(test_error).mean),
      better(test_error, small[1], small[2]));
}

void systems(Report& report, const std::vector<Results>& results) {
  Table table{"The cnn: test accuracy in percent, mean and spread over seeds",
              {"norm", "test accuracy", "published, on MNIST after 20 epochs"},
              {}};
  const char* published[] = {"99.14", "99.13", "99.09", "99.10", "99.25", "99.10", "99.35"};
  double least = 100, greatest = 0;
  std::vector<std::pair<std::string, Judgement>> level;  // each detached one, layer_simple
  std::string detached;
  for (std::size_t i = 0; i < 7; ++i) {
    const Spread accuracy = results[i].spread(test_accuracy);
    table.rows.push_back({results[i].system, accuracy.to_string(2), published[i]});
    if (results[i].system.starts_with("detach")) {
      const double behind = results[2].spread(test_accuracy).mean - accuracy.mean;
      level.emplace_back(results[i].system, equal(test_accuracy, results[i], results[2], 2));
      detached +=
          fmt::format("{}{} {:.2f}", detached.empty() ? "" : ", ", results[i].system, behind);
    } else {
      least = std::min(least, accuracy.mean), greatest = std::max(greatest, accuracy.mean);
    }
  }
  report.table(table);
  report.claim(
      "Parity of the systems whose gradient is whole: none, layer, layer_simple and ada are within "
      "two points of each other.",
      fmt::format("from {:.2f} to {:.2f} %", least, greatest), greatest - least < 2);
  report.published(
      "The detached systems are level with the others too, after many more steps: within two "
      "points of layer_simple.",
      fmt::format("behind it by {} points", detached), all_of(level));
}

void first_epoch(Report& report, const std::vector<Results>& results) {
  Table table{"The cnn: training loss over the first epoch", {"norm", "loss"}, {}};
  Diagram diagram{"The cnn in its first epoch", "updates", "training loss", {}};
  const auto result = [&](const std::string& norm) -> const Results& {
    return *std::find_if(results.begin(), results.end(),
                         [&](const Results& each) { return each.system == norm; });
  };
  for (const char* norm : {"none", "layer", "batch", "instance", "group"}) {
    table.rows.push_back({norm, result(norm).spread(first_epoch_loss).to_string()});
    diagram.series.push_back(mean_training_curve(result(norm)));
  }
  report.table(table);
  report.figure("first_epoch", diagram);
  const Spread none = result("none").spread(first_epoch_loss),
               layer = result("layer").spread(first_epoch_loss),
               batch = result("batch").spread(first_epoch_loss);
  report.claim(
      "On the cnn layer normalization learns faster than none, and batch normalization faster than "
      "layer normalization: losses of the first epoch, apart by more than their larger spread.",
      fmt::format("none {}, layer {}, batch {}", none.to_string(), layer.to_string(),
                  batch.to_string()),
      none.mean - layer.mean > std::max(none.deviation, layer.deviation) &&
          layer.mean - batch.mean > std::max(layer.deviation, batch.deviation));
}

int run(const registry::Experiment& self, int argc, char** argv) {
  Flags flags(argv[0], self.summary);
  MnistNormsFlags mnist;
  Report report;
  Ledger ledger;
  mnist.add_to(flags);
  report.add_to(flags);
  ledger.add_to(flags);
  return flags.run(argc, argv, [&] {
    mnist.check();
    set_threads(mnist.comparison.threads);
    Cluster cluster;
    report.begin(self.name, "Normalizations on handwritten digits", command_line(argc, argv),
                 cluster.is_first());
    const ImageSets sets =
        mnist.data.empty() ? draw_image_sets(mnist.comparison.seed) : read_image_sets(mnist.data);
    expect<DataError>(sets.train.height == 28 && sets.train.width == 28 && sets.classes == 10,
                      "{}: the networks read images of 28 x 28 in 10 classes", sets.source);
    ledger.begin(self.name, fmt::format("{}, test {}", sets.digest(), sets.test_digest()));
    const Comparison comparison(cluster, ledger, mnist.comparison);
    Laboratory laboratory(mnist, sets, comparison);
    report.paragraph(fmt::format(
        "Data: {}. An mlp 784-1000-1000-10 makes {} updates with batches of 128, {} with batches "
        "of 4; its test error is that of {} images. A cnn with batches of {} makes {} epochs of {} "
        "images; its test accuracy is that of {}. Adam with a rate of 0.001, {} seeds.",
        sets.source, mnist.updates, small_batch_updates * mnist.updates, laboratory.watched(),
        cnn_batch, mnist.epochs, laboratory.cnn_images(), sets.test.count(),
        mnist.comparison.seeds));
    batch_sizes(report, laboratory, mnist.updates);
    std::vector<Results> results = laboratory.cnns(
        {"none", "layer", "layer_simple", "detach", "detach_mean", "detach_variance", "ada"},
        mnist.epochs);
    systems(report, results);
    for (const Results& each : laboratory.cnns({"batch", "instance", "group"}, 1))
      results.push_back(each);
    first_epoch(report, results);
    return report.finish();
  });
}

const registry::Entry entry({"mnist_norms", "Compares normalizations on handwritten digits.", run,
                             true});

}  // namespace
