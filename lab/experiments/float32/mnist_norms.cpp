// Normalizations in a convolutional network on handwritten digits: the systems of Xu et al. 2019
// (the MNIST column of its tables 1 to 4), and the first epoch (Ba et al. 2016, section 6.7). Those
// in a perceptron, with batches large and small, are figure 6 of the experiment ba2016.

#include <algorithm>

#include "experiments/detaching.h"
#include "experiments/digit_claims.h"
#include "experiments/study.h"
#include "problems/digits.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::problems;
using namespace tapegrad::support;

namespace {

struct MnistNormsFlags {
  Index epochs = 3;
  Index limit = 2000;

  void add_to(Flags& flags, StudyRun&) {
    flags.setting("--epochs", epochs, "Epochs of the cnn whose accuracy is measured")
        .check(between(1, 1 << 20));
    flags.setting("--limit", limit, "Training images of the cnn; 0: all").check(not_negative());
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
  NormRuns(const StudyRun& run, Index epochs, const Problem& problem, Index images)
      : run_(run),
        problem_(problem),
        images_(images),
        epoch_steps_(problem.eval_interval),
        progress_(run.progress(total_steps(epochs))) {}

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
    std::vector<Results> results = run_.train(systems, [&](const Results& trained) {
      std::string line = trained.system + ":";
      for (const Metric& metric : {first_epoch_loss, test_accuracy})
        line += fmt::format(" {} {},", metric.value, trained.spread(metric).to_string());
      progress_.line(fmt::format("{} {:.0f} s", line, progress_.seconds()));
    });
    before_ += std::ssize(norms) * run_.comparison.seeds * epochs * epoch_steps_;
    for (std::size_t i = 0; i < norms.size(); ++i) results[i].system = norms[i];
    return results;
  }

 private:
  /// The systems of the paper to the end, the others for one epoch.
  Index total_steps(Index epochs) const {
    const Index all = std::ssize(paper_norms) * epochs + std::ssize(first_epoch_norms);
    return run_.comparison.seeds * all * epoch_steps_;
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

  const StudyRun& run_;
  const Problem& problem_;
  Index images_;
  Index epoch_steps_;
  Progress progress_;
  Index before_ = 0, done_ = 0;  // steps: of the lists of norms before, and all
};

void systems(Report& report, const std::vector<Results>& results) {
  Table table{"The cnn: test accuracy in percent, mean and spread over seeds",
              {"norm", "test accuracy", "published, on MNIST after 20 epochs"},
              {}};
  const PaperTask& of_paper = xu2019().task("mnist");
  ByNorm by_norm;
  for (std::size_t i = 0; i < results.size(); ++i) {
    table.rows.push_back({results[i].system, results[i].spread(test_accuracy).to_string(2),
                          fmt::format("{:.2f}", of_paper.published_of(results[i].system))});
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

void report_mnist_norms(StudyRun& run, const MnistNormsFlags& flags) {
  const ImageSets sets = image_sets({run.data, run.comparison.seed});
  const ConvSizes sizes{.limit = flags.limit};
  const Problem problem = conv_problem(sets, sizes);
  run.ledger.begin(run.name, problem.data);
  const Index images = first_images(sets.train, flags.limit).count();
  NormRuns runs(run, flags.epochs, problem, images);
  run.report.paragraph(
      fmt::format("Data: {}. A cnn is trained in batches of {}, for {} epochs of {} images, and "
                  "then tested on {} images. Adam with a rate of 0.001, {} seeds.",
                  sets.source, sizes.batch_size, flags.epochs, images, sets.test.count(),
                  run.comparison.seeds));
  std::vector<Results> results = runs.cnns(paper_norms, flags.epochs);
  systems(run.report, results);
  for (const Results& each : runs.cnns(first_epoch_norms, 1)) results.push_back(each);
  first_epoch(run.report, results);
}

const registry::Entry entry([] {
  return with_flags<MnistNormsFlags>({.name = "mnist_norms",
                                      .summary = "Compares normalizations on handwritten digits.",
                                      .title = "Normalizations on handwritten digits",
                                      .seeds = least_seeds,
                                      .fewest_seeds = 2,
                                      .data = digits_flag()},
                                     report_mnist_norms);
});

}  // namespace
