// Normalizations in a convolutional network on handwritten digits: the systems of Xu et al. 2019
// (the MNIST column of its tables 1 to 4), and the first epoch (Ba et al. 2016, section 6.7). Those
// in a perceptron, with batches large and small, are figure 6 of the experiment ba2016.

#include <algorithm>

#include "experiments/comparison.h"
#include "experiments/detaching.h"
#include "experiments/digit_claims.h"
#include "experiments/registry.h"
#include "experiments/report.h"
#include "problems/digits.h"
#include "support/data_files.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::problems;
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
        .check(between(1, 1 << 20));
    flags.setting("--limit", limit, "Training images of the cnn; 0: all").check(not_negative());
    flags.input("--data", data, data_help("MNIST", "mnist/") + "; without it, draws digits")
        .environment("TAPEGRAD_MNIST");
    flags.setting("--quiet", quiet, "No progress on standard error");
  }
};

double mean_loss(const std::vector<CurvePoint>& curve) {
  RunningMean mean;
  for (const CurvePoint& point : curve) mean.add(point.training);
  return mean.value();
}

const std::vector<std::string> first_epoch_norms{"batch", "instance", "group"};

/// Trains them all. The bar counts their steps.
class NormRuns {
 public:
  ///   images: to train on
  NormRuns(const MnistNormsFlags& flags, const Problem& problem, Index images,
           const Comparison& comparison)
      : flags_(flags),
        problem_(problem),
        images_(images),
        comparison_(comparison),
        epoch_steps_(problem.eval_interval),
        progress_(total_steps(), 0, flags.quiet || !comparison.is_first()) {}

  /// Trains a network with each norm, after which its results are named.
  std::vector<Results> cnns(const std::vector<std::string>& norms, Index epochs) {
    std::vector<System> systems;
    for (const std::string& norm : norms)
      systems.push_back({"cnn_" + norm,
                         {{"epochs", epochs}, {"images", images_}},
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
    const auto trainee = problem_.trainee({{norm, problem_.rate}, trial, true}, random);
    const Learner learner{.net = trainee->net(),
                          .steps = RunSteps::epochs(epochs, epoch_steps_),
                          .loss = [&](Index step) {
                            return trainee->loss(step, {0, 0, trainee->rows(step)}, random);
                          }};
    Training updates(problem_.optimizer, {}, learner.net, learner.steps.total);
    Outcome outcome;
    tapegrad::train(learner, updates, {.step = [&](Index step, double loss) {
                      if (step <= epoch_steps_) outcome.curve.push_back({step, loss});
                      progress_.step(++done_, loss);
                    }});
    trainee->test(outcome);
    outcome.values = {{first_epoch_loss.value, mean_loss(outcome.curve)},
                      {test_accuracy.value, mean_of_items(outcome)}};
    return outcome;
  }

  const MnistNormsFlags& flags_;
  const Problem& problem_;
  Index images_;
  const Comparison& comparison_;
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
    const ImageSets sets = image_sets({mnist.data, mnist.comparison.seed});
    const ConvSizes sizes{.limit = mnist.limit};
    const Problem problem = conv_problem(sets, sizes);
    ledger.begin(self.name, problem.data);
    const Comparison comparison(cluster, ledger, mnist.comparison);
    const Index images = first_images(sets.train, mnist.limit).count();
    NormRuns runs(mnist, problem, images, comparison);
    report.paragraph(
        fmt::format("Data: {}. A cnn is trained in batches of {}, for {} epochs of {} images, and "
                    "then tested on {} images. Adam with a rate of 0.001, {} seeds.",
                    sets.source, sizes.batch_size, mnist.epochs, images, sets.test.count(),
                    mnist.comparison.seeds));
    std::vector<Results> results = runs.cnns(paper_norms, mnist.epochs);
    systems(report, results);
    for (const Results& each : runs.cnns(first_epoch_norms, 1)) results.push_back(each);
    first_epoch(report, results);
    return report.finish();
  });
}

const registry::Entry entry({"mnist_norms", "Compares normalizations on handwritten digits.", run,
                             true});

}  // namespace
