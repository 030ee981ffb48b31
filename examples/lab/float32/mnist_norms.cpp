// Normalizations in a convolutional network on handwritten digits: the systems of Xu et al. 2019
// (the MNIST column of its tables 1 to 4), and the first epoch (Ba et al. 2016, section 6.7). Those
// in a perceptron, with batches large and small, are figure 6 of the experiment ba2016.

#include <algorithm>

#include "lab/comparison.h"
#include "lab/detaching.h"
#include "lab/digit_claims.h"
#include "lab/registry.h"
#include "lab/report.h"
#include "support/data_files.h"
#include "support/image_sets.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::support;

namespace {

struct MnistNormsFlags {
  ComparisonFlags comparison{.seeds = least_seeds};
  Index epochs = 3;
  Index limit = 2000;
  std::string data;
  bool quiet = false;

  void add_to(Flags& flags) {
    comparison.add_to(flags, 2);
    flags.setting("--epochs", epochs, "Epochs of the cnn whose accuracy is measured")
        ->check(between(1, 1 << 20));
    flags.setting("--limit", limit, "Training images of the cnn; 0: all")->check(not_negative());
    flags.input("--data", data, data_help("MNIST", "mnist/") + "; without it, draws digits")
        ->envname("TAPEGRAD_MNIST");
    flags.setting("--quiet", quiet, "No progress on standard error");
  }
};

double mean_loss(const std::vector<CurvePoint>& curve) {
  RunningMean mean;
  for (const CurvePoint& point : curve) mean.add(point.training);
  return mean.value();
}

/// 100 for each image that the net tells apart rightly, otherwise 0.
std::vector<double> accuracy_percents(const Layer& net, const ImageSet& set) {
  std::vector<double> right = misclassified(net, set);
  for (double& each : right) each = 100 * (1 - each);
  return right;
}

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
        epoch_steps_((cnn_images_.count() + cnn_batch - 1) / cnn_batch),
        progress_(total_steps(), 0, flags.quiet || !comparison.is_first()) {}

  Index cnn_images() const { return cnn_images_.count(); }

  /// Trains a network with each norm, after which its results are named.
  std::vector<Results> cnns(const std::vector<std::string>& norms, Index epochs) {
    std::vector<System> systems;
    for (const std::string& norm : norms)
      systems.push_back({"cnn_" + norm,
                         {{"epochs", epochs}, {"images", cnn_images_.count()}},
                         [&, epochs](const Trial& trial) {
                           done_ = before_ + trial.number * epochs * epoch_steps_;
                           return train_cnn(norm, epochs, trial);
                         }});
    std::vector<Results> results = comparison_.train(systems, [&](const Results& trained) {
      std::string line = trained.system + ":";
      for (const Metric& metric : {first_epoch_loss, test_accuracy})
        line += fmt::format(" {} {},", metric.value, trained.spread(metric).to_string());
      progress_.line(fmt::format("{} {:.0f} s", line, progress_.seconds()));
    });
    before_ += std::ssize(norms) * flags_.comparison.seeds * epochs * epoch_steps_;
    for (std::size_t i = 0; i < norms.size(); ++i) results[i].system = norms[i];
    return results;
  }

 private:
  /// The systems of the paper to the end, the others for one epoch.
  Index total_steps() const {
    const Index epochs = std::ssize(paper_norms) * flags_.epochs + std::ssize(first_epoch_norms);
    return flags_.comparison.seeds * epochs * epoch_steps_;
  }

  Outcome train_cnn(const std::string& norm, Index epochs, const Trial& trial) {
    Random random = trial.weights();
    const Layer net = make_cnn(norm, random);
    Training updates({.schedule = "constant"}, {}, fields(net), epochs * epoch_steps_);
    Outcome outcome;
    Index done = 0;
    for (Index epoch = 0; epoch < epochs; ++epoch) {
      Random shuffled = trial.batches().stream(static_cast<std::uint64_t>(epoch));
      for (const Batch& batch : Batches(cnn_images_, cnn_batch, shuffled)) {
        const double loss = updates.step(
            [&] { return cross_entropy(net(batch.images, training(random)), batch.labels); });
        if (epoch == 0) outcome.curve.push_back({++done, loss});
        progress_.step(++done_, loss);
      }
    }
    outcome.items = accuracy_percents(net, sets_.test);
    outcome.values = {{first_epoch_loss.value, mean_loss(outcome.curve)},
                      {test_accuracy.value, mean_of_items(outcome)}};
    return outcome;
  }

  const MnistNormsFlags& flags_;
  const ImageSets& sets_;
  const Comparison& comparison_;
  ImageSet cnn_images_;
  Index epoch_steps_;
  Progress progress_;
  Index before_ = 0, done_ = 0;  // steps: of the lists of norms before, and all
};

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
  for (const JudgedClaim& claim : first_epoch_claims(results)) report.judged(claim);
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
    report.paragraph(
        fmt::format("Data: {}. A cnn with batches of {} makes {} epochs of {} images. At the end "
                    "it is tested on "
                    "{} images. Adam with a rate of 0.001, {} seeds.",
                    sets.source, cnn_batch, mnist.epochs, laboratory.cnn_images(),
                    sets.test.count(), mnist.comparison.seeds));
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
