// Normalizations on handwritten digits: batches large and small (Ba et al. 2016, section 6.6 and
// figure 6), the systems of Xu et al. 2019 on a convolutional network (the MNIST column of its
// tables 1 to 4), and the first epoch of that network (Ba et al. 2016, section 6.7).

#include <algorithm>
#include <numeric>

#include "lab/comparison.h"
#include "lab/detaching.h"
#include "lab/digit_claims.h"
#include "lab/registry.h"
#include "lab/report.h"
#include "support/image_sets.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::support;

namespace {

constexpr Index measures = 20;             // measurements of the mlp in a training
constexpr Index small_batch_updates = 32;  // with batches of 4, on the images of one of 128

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
                 "Updates of the mlp with batches of 128; 32 times as many with batches of 4")
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

double average(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// 100 for each image that the net misclassifies, otherwise 0.
std::vector<double> error_percents(const Layer& net, const ImageSet& set) {
  std::vector<double> wrong = misclassified(net, set);
  for (double& each : wrong) each *= 100;
  return wrong;
}

// Large and small batches.

/// 784-1000-1000-10 of Ba et al. 2016, section 6.6. "batch" is the paper's batch normalization of
/// all layers, the output included; "batch_hidden" and all others normalize the hidden layers only.
Layer make_mlp(const std::string& name, Random& random) {
  const NormSpec norm = name.starts_with("batch") ? "batch:unbiased=1" : NormSpec(name);
  return Sequential{
      Flatten(), Linear(784, 1000, random),  Norm(norm, 1000),
      relu,      Linear(1000, 1000, random), Norm(norm, 1000),
      relu,      Linear(1000, 10, random),   Norm(name == "batch" ? norm : NormSpec(), 10)};
}

const std::vector<std::string> mlp_norms{"none", "layer", "batch", "batch_hidden"};
const Metric late_loss{.value = "late_loss"};  // while training, over the last half of the updates

// The convolutional network.

constexpr Index cnn_batch = 32;
const std::vector<std::string> first_epoch_norms{"batch", "instance", "group"};

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
        watched_(first_images(sets.validation, 500)),
        epoch_steps_((cnn_images_.count() + cnn_batch - 1) / cnn_batch),
        progress_(total_steps(), 0, flags.quiet || !comparison.is_first()) {}

  Index cnn_images() const { return cnn_images_.count(); }
  Index watched() const { return watched_.count(); }

  std::vector<Results> mlps(Index batch_size, Index updates) {
    return train(fmt::format("mlp_{}_", batch_size), mlp_norms, updates, {{"updates", updates}},
                 {late_loss, test_error}, [&](const std::string& norm, const Trial& trial) {
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
  /// All mlps for both batch sizes, the systems of the paper to the end and the others for one
  /// epoch.
  Index total_steps() const {
    const Index mlp = std::ssize(mlp_norms) * flags_.updates * (1 + small_batch_updates);
    const Index cnn = std::ssize(paper_norms) * flags_.epochs + std::ssize(first_epoch_norms);
    return flags_.comparison.seeds * (mlp + cnn * epoch_steps_);
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
    double sum = 0;
    Index done = 0;
    for (Index epoch = 0; done < updates; ++epoch) {
      Random shuffled = trial.batches().stream(static_cast<std::uint64_t>(epoch));
      for (const Batch& batch : Batches(sets_.train, batch_size, shuffled)) {
        const double loss = trainer.step(batch);
        sum += loss;
        progress_.step(++done_, loss);
        if (++done % stretch != 0) continue;
        outcome.curve.push_back({done, sum / static_cast<double>(stretch),
                                 average(error_percents(trainer.net, watched_))});
        sum = 0;
        if (done == updates) break;
      }
    }
    outcome.items = error_percents(trainer.net, sets_.test);
    outcome.values = {{late_loss.value, mean_loss(outcome.curve, measures / 2)},
                      {test_error.value, average(outcome.items)}};
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
    outcome.items = error_percents(trainer.net, sets_.test);
    for (double& item : outcome.items) item = 100 - item;
    outcome.values = {{first_epoch_loss.value, mean_loss(outcome.curve, 0)},
                      {test_accuracy.value, average(outcome.items)}};
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

/// The least loss that batch normalization of the logits allows at first, in the mean over batches.
double mean_floor(const ImageSet& set, Index batch_size, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> floors;
  for (const Batch& batch : Batches(set, batch_size, random))
    floors.push_back(batch_norm_floor(batch.labels, 10));
  return average(floors);
}

void floors(Report& report, const ImageSets& sets, std::uint64_t seed) {
  report.paragraph(fmt::format(
      "Training losses of \"batch\" do not compare with the others. Its logits are normalized, "
      "too, "
      "so that even right ones have a loss: at the initial gain of 1 in the mean {:.2f} nats with "
      "batches of 128 and {:.2f} with batches of 4. The loss gets below only as far as the gain "
      "grows. \"batch_hidden\" has no such floor. Systems are judged by their test errors.",
      mean_floor(sets.train, 128, seed), mean_floor(sets.train, 4, seed)));
  constexpr Index repeats = 12;
  Indices labels = Indices::uninitialized({10 * repeats});
  for (Index i = 0; i < labels.size(); ++i) labels.mutable_data()[i] = i % 10;
  report.claim(floor_claim(batch_norm_floor(labels, 10), repeats));
}

void batch_sizes(Report& report, Laboratory& laboratory, Index updates) {
  std::vector<Results> results[2];  // batches of 128, and of 4
  for (const std::size_t small : {0, 1}) {
    const Index size = small == 1 ? 4 : 128;
    Diagram losses{
        fmt::format("Training loss, batches of {}", size),
        "updates",
        "nats",
        {},
        false,
        "Batch normalization of the logits keeps the loss of \"batch\" above its floor."};
    Diagram errors{fmt::format("Validation error, batches of {}", size),
                   "updates",
                   "percent",
                   {},
                   false,
                   "Means over seeds; the bands are their standard deviations."};
    results[small] = laboratory.mlps(size, small == 1 ? small_batch_updates * updates : updates);
    for (const Results& each : results[small]) {
      losses.series.push_back(mean_training_curve(each));
      errors.series.push_back(mean_validation_curve(each));
    }
    report.figure(fmt::format("loss_{}", size), losses);
    report.figure(fmt::format("error_{}", size), errors, small == 1 ? Talk::yes : Talk::no);
  }
  const auto& [large, small] = results;
  Table table{"The mlp: training loss over the last half of the updates, test error in percent",
              {"norm", "loss, batches of 128", "test error", "loss, batches of 4", "test error"},
              {}};
  for (std::size_t i = 0; i < large.size(); ++i)
    table.rows.push_back({large[i].system, large[i].spread(late_loss).to_string(),
                          large[i].spread(test_error).to_string(2),
                          small[i].spread(late_loss).to_string(),
                          small[i].spread(test_error).to_string(2)});
  report.table(table);
  for (const PublishedClaim& claim : batch_size_claims(large, small)) report.published(claim);
}

void systems(Report& report, const std::vector<Results>& results) {
  Table table{"The cnn: test accuracy in percent, mean and spread over seeds",
              {"norm", "test accuracy", "published, on MNIST after 20 epochs"},
              {}};
  const char* published[] = {"99.14", "99.13", "99.09", "99.10", "99.25", "99.10", "99.35"};
  ByNorm by_norm;
  for (std::size_t i = 0; i < results.size(); ++i) {
    table.rows.push_back(
        {results[i].system, results[i].spread(test_accuracy).to_string(2), published[i]});
    by_norm[results[i].system] = results[i];
  }
  report.table(table);
  for (const Claim& claim : detaching_claims({by_norm})) report.claim(claim);
  for (const PublishedClaim& claim : system_claims(results)) report.published(claim);
}

void first_epoch(Report& report, const std::vector<Results>& results) {
  Table table{"The cnn: training loss over the first epoch", {"norm", "loss"}, {}};
  Diagram diagram{"The cnn in its first epoch",
                  "updates",
                  "training loss",
                  {},
                  false,
                  "The earlier a curve falls, the faster its net learns."};
  for (const char* norm : {"none", "layer", "batch", "instance", "group"}) {
    const Results& result = of_system(results, norm);
    table.rows.push_back({norm, result.spread(first_epoch_loss).to_string()});
    diagram.series.push_back(mean_training_curve(result));
  }
  report.table(table);
  report.figure("first_epoch", diagram);
  for (const PublishedClaim& claim : first_epoch_claims(results)) report.published(claim);
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
        "of 4, which see equally many images; curves show its error on {} validation images. A cnn "
        "with batches of {} makes {} epochs of {} images. At the end both are tested on {} images. "
        "Adam with a rate of 0.001, {} seeds.",
        sets.source, mnist.updates, small_batch_updates * mnist.updates, laboratory.watched(),
        cnn_batch, mnist.epochs, laboratory.cnn_images(), sets.test.count(),
        mnist.comparison.seeds));
    floors(report, sets, mnist.comparison.seed);
    batch_sizes(report, laboratory, mnist.updates);
    std::vector<Results> results = laboratory.cnns(paper_norms, mnist.epochs);
    systems(report, results);
    for (const Results& each : laboratory.cnns(first_epoch_norms, 1)) results.push_back(each);
    first_epoch(report, results);
    return report.finish();
  });
}

const registry::Entry entry({"mnist_norms", "Compares normalizations on handwritten digits.", run,
                             true});

}  // namespace
