// Normalizations on handwritten digits: batches large and small (Ba et al. 2016, section 6.6 and
// figure 6), the systems of Xu et al. 2019 on a convolutional network (the MNIST column of its
// tables 1 to 4), and the first epoch of that network (Ba et al. 2016, section 6.7).

#include <algorithm>
#include <cmath>

#include "support/image_sets.h"
#include "support/report.h"
#include "support/spread.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/progress.h"

using namespace tapegrad;
using namespace tapegrad::support;

namespace {

constexpr Index measures = 20;            // of the mlp in a training
constexpr Index small_batch_updates = 5;  // with batches of 4, for each with batches of 128

struct MnistNormsFlags {
  Index seeds = 2;
  Index updates = 100;
  Index epochs = 3;
  Index limit = 2000;
  std::string data;
  std::uint64_t seed = 1;
  int threads = tapegrad::threads();
  bool quiet = false;

  void add_to(Flags& flags) {
    flags.setting("--seeds", seeds, "Trainings of each network")->check(between(2, 1000));
    flags
        .setting("--updates", updates,
                 "Updates of the mlp with batches of 128; with batches of 4 five times as many")
        ->check(between(20, 1 << 30));
    flags.setting("--epochs", epochs, "Epochs of the cnn whose accuracy is measured")
        ->check(between(1, 1 << 20));
    flags.setting("--limit", limit, "Training images of the cnn; 0: all")->check(not_negative());
    flags.setting("--data", data, "Directory of MNIST's four files; without it, draws digits")
        ->envname("TAPEGRAD_MNIST");
    flags.setting("--seed", seed, "First seed of weights and order; seed of the drawn digits");
    flags.setting("--threads", threads, "Threads to use; results do not depend on it")
        ->check(between(1, 1024));
    flags.setting("--quiet", quiet, "No progress on standard error");
  }

  /// Refuses values that do not fit. Throws CLI::ValidationError.
  void check() const {
    if (updates % measures != 0)
      throw CLI::ValidationError(
          "--updates",
          fmt::format("{} is not a multiple of {}, the points of a curve", updates, measures));
  }
};

/// The first images of a set; all for a count of 0.
ImageSet first_images(const ImageSet& set, Index count) {
  if (count == 0 || count >= set.count()) return set;
  const auto pixels = set.pixels.begin();
  const auto labels = set.labels.begin();
  return {set.height,
          set.width,
          {pixels, pixels + count * set.height * set.width},
          {labels, labels + count}};
}

/// A network in training with one seed.
struct Trainer {
  Random random;
  Layer net;
  Adam adam;

  template <class Make>
  Trainer(std::uint64_t seed, const Make& make)
      : random(seed), net(make(random)), adam(parameters(net)) {}

  /// Returns the loss of the batch.
  double step(const Batch& batch) {
    const Tape tape;
    const Tensor loss = cross_entropy(net(batch.images, training(random)), batch.labels);
    adam.step(grad(loss, adam.parameters()));
    return loss.item();
  }
};

/// The order of the images in an epoch.
Random order(std::uint64_t seed, Index epoch) {
  return Random(seed).stream(0).stream(static_cast<std::uint64_t>(epoch));
}

/// Points of a curve: the mean over seeds, x by x.
Series mean_curve(const std::string& name, const std::vector<Series>& runs) {
  Series mean{name, runs.front().points};
  for (std::size_t i = 0; i < mean.points.size(); ++i) {
    double sum = 0;
    for (const Series& run : runs) sum += run.points[i].second;
    mean.points[i].second = sum / static_cast<double>(runs.size());
  }
  return mean;
}

/// The mean of y over the points from `first` on.
double mean_from(const Series& series, Index first) {
  double sum = 0, count = 0;
  for (auto point = series.points.begin() + first; point != series.points.end(); ++point)
    sum += point->second, ++count;
  return sum / count;
}

// Large and small batches.

/// 784-1000-1000-10 of Ba et al. 2016, section 6.6: batch normalization of all layers, the output
/// included; layer normalization of the hidden ones.
Layer make_mlp(const std::string& name, Random& random) {
  const bool batch = name == "batch";
  const NormSpec norm = batch ? "batch:unbiased=1" : NormSpec(name);
  const auto activation = [](const Tensor& x) { return relu(x); };
  return Sequential{Flatten(),  Linear(784, 1000, random),  Norm(norm, 1000),
                    activation, Linear(1000, 1000, random), Norm(norm, 1000),
                    activation, Linear(1000, 10, random),   Norm(batch ? norm : NormSpec(), 10)};
}

struct MlpRun {
  Series losses, errors;  // the training loss since the last point; the test error there
};

/// What all seeds found for one norm and batch size.
struct MlpResult {
  std::string norm;
  std::vector<Series> losses = {}, errors = {};

  /// The training loss over the last half of the updates.
  Spread loss() const {
    std::vector<double> values;
    for (const Series& run : losses) values.push_back(mean_from(run, measures / 2));
    return Spread(values);
  }
  /// And over all of them.
  Spread whole_loss() const {
    std::vector<double> values;
    for (const Series& run : losses) values.push_back(mean_from(run, 0));
    return Spread(values);
  }
  /// The test error over the last quarter.
  Spread test_error() const {
    std::vector<double> values;
    for (const Series& run : errors) values.push_back(mean_from(run, measures * 3 / 4));
    return Spread(values);
  }
};

// The convolutional network.

constexpr Index cnn_batch = 32;

struct CnnResult {
  std::string norm;
  std::vector<Series> losses = {};         // of the first epoch, step by step
  std::vector<double> first_epoch = {};    // mean loss
  std::vector<double> test_accuracy = {};  // in percent
};

/// All trainings; the bar counts their steps.
class Laboratory {
 public:
  Laboratory(const MnistNormsFlags& flags, const ImageSets& sets)
      : flags_(flags),
        sets_(sets),
        cnn_images_(first_images(sets.train, flags.limit)),
        watched_(first_images(sets.test, 500)),
        epoch_steps_((cnn_images_.count() + cnn_batch - 1) / cnn_batch),
        progress_(total_steps(), 0, flags.quiet) {}

  Index cnn_images() const { return cnn_images_.count(); }
  Index watched() const { return watched_.count(); }

  MlpResult mlp(const std::string& norm, Index batch_size, Index updates) {
    MlpResult result{norm};
    for (Index i = 0; i < flags_.seeds; ++i) {
      const MlpRun run = train_mlp(norm, batch_size, updates, seed(i));
      result.losses.push_back(run.losses);
      result.errors.push_back(run.errors);
    }
    progress_.line(fmt::format(
        "mlp, batches of {}, {}: training loss {}, test error {} %, {:.0f} s", batch_size, norm,
        result.loss().text(), result.test_error().text(2), progress_.seconds()));
    return result;
  }

  CnnResult cnn(const std::string& norm, Index epochs) {
    CnnResult result{norm};
    for (Index i = 0; i < flags_.seeds; ++i) {
      // Instance normalization has no positions to look at in the hidden layer.
      const NormSpec hidden = norm == "instance" ? NormSpec() : NormSpec(norm);
      Trainer trainer(seed(i), [&](Random& random) {
        return ConvNet(random, {.norm = NormSpec(norm), .hidden_norm = hidden});
      });
      Series losses{norm, {}};
      for (Index epoch = 0; epoch < epochs; ++epoch) {
        Random shuffled = order(seed(i), epoch);
        for (const Batch& batch : Batches(cnn_images_, cnn_batch, shuffled)) {
          const double loss = trainer.step(batch);
          if (epoch == 0) losses.points.emplace_back(losses.points.size() + 1, loss);
          progress_.step(++done_, loss);
        }
      }
      result.losses.push_back(losses);
      result.first_epoch.push_back(mean_from(losses, 0));
      result.test_accuracy.push_back(100 - error_percent(trainer.net, sets_.test));
    }
    progress_.line(fmt::format("cnn, {}: first epoch {}, test accuracy {} %, {:.0f} s", norm,
                               Spread(result.first_epoch).text(),
                               Spread(result.test_accuracy).text(2), progress_.seconds()));
    return result;
  }

 private:
  std::uint64_t seed(Index i) const { return flags_.seed + static_cast<std::uint64_t>(i); }
  /// Three mlps for both batch sizes, seven cnns to the end and three for an epoch.
  Index total_steps() const {
    return flags_.seeds * (3 * flags_.updates * (1 + small_batch_updates) +
                           (7 * flags_.epochs + 3) * epoch_steps_);
  }

  MlpRun train_mlp(const std::string& norm, Index batch_size, Index updates, std::uint64_t seed) {
    Trainer trainer(seed, [&](Random& random) { return make_mlp(norm, random); });
    MlpRun run{{norm, {}}, {norm, {}}};
    const Index stretch = updates / measures;
    double sum = 0;
    Index done = 0;
    for (Index epoch = 0; done < updates; ++epoch) {
      Random shuffled = order(seed, epoch);
      for (const Batch& batch : Batches(sets_.train, batch_size, shuffled)) {
        const double loss = trainer.step(batch);
        sum += loss;
        progress_.step(++done_, loss);
        if (++done % stretch != 0) continue;
        run.losses.points.emplace_back(done, sum / static_cast<double>(stretch));
        run.errors.points.emplace_back(done, error_percent(trainer.net, watched_));
        sum = 0;
        if (done == updates) break;
      }
    }
    return run;
  }

  const MnistNormsFlags& flags_;
  const ImageSets& sets_;
  ImageSet cnn_images_, watched_;
  Index epoch_steps_;
  Progress progress_;
  Index done_ = 0;
};

void batch_sizes(Report& report, Laboratory& laboratory, Index updates) {
  Table table{
      "The mlp: training loss over the last half of the updates, test error in percent "
      "over their last quarter",
      {"norm", "loss, batches of 128", "test error", "loss, batches of 4", "test error"},
      {}};
  std::vector<MlpResult> results[2];  // batches of 128, and of 4
  for (const std::size_t small : {0, 1}) {
    const Index size = small == 1 ? 4 : 128;
    Diagram losses{fmt::format("Training loss, batches of {}", size), "updates", "nats", {}};
    Diagram errors{fmt::format("Test error, batches of {}", size), "updates", "percent", {}};
    for (const char* norm : {"none", "layer", "batch"}) {
      results[small].push_back(
          laboratory.mlp(norm, size, small == 1 ? small_batch_updates * updates : updates));
      losses.series.push_back(mean_curve(norm, results[small].back().losses));
      errors.series.push_back(mean_curve(norm, results[small].back().errors));
    }
    report.figure(fmt::format("loss_{}", size), losses);
    report.figure(fmt::format("error_{}", size), errors);
  }
  const auto& [large, small] = results;
  for (std::size_t i = 0; i < large.size(); ++i)
    table.rows.push_back({large[i].norm, large[i].loss().text(), large[i].test_error().text(2),
                          small[i].loss().text(), small[i].test_error().text(2)});
  report.table(table);

  const Spread none = large[0].whole_loss(), layer = large[1].whole_loss();
  report.claim(
      "With batches of 128 layer normalization learns faster than none: its training loss is lower "
      "on average over all updates, by more than both spreads.",
      fmt::format("{} against {}", layer.text(), none.text()),
      none.mean - layer.mean > none.deviation + layer.deviation);
  double worst = 0;
  for (const MlpResult& each : large) worst = std::max(worst, each.test_error().mean);
  report.claim("With batches of 128 all three learn: their test errors are below 15 %.",
               fmt::format("at most {:.2f} %", worst), worst < 15);
  const Spread layer_loss = small[1].loss(), batch_loss = small[2].loss();
  report.claim(
      "With batches of 4 layer normalization is ahead of batch normalization in training: its "
      "training loss over the last half of the updates is lower by more than both spreads.",
      fmt::format("{} against {}", layer_loss.text(), batch_loss.text()),
      batch_loss.mean - layer_loss.mean > batch_loss.deviation + layer_loss.deviation);
  const double layer_rise = small[1].loss().mean - large[1].loss().mean;
  const double batch_rise = small[2].loss().mean - large[2].loss().mean;
  report.claim(
      "Small batches cost batch normalization more: from batches of 128 to batches of 4 its "
      "training loss rises by more than twice as much as that of layer normalization.",
      fmt::format("by {:.3f}, and by {:.3f}", batch_rise, layer_rise), batch_rise > 2 * layer_rise);
  const double layer_error = small[1].test_error().mean, batch_error = small[2].test_error().mean;
  report.published(
      "With batches of 4 layer normalization is ahead in test error, too, where running averages "
      "take the place of the noisy statistics (figure 6).",
      fmt::format("{:.2f} % against {:.2f} %", layer_error, batch_error),
      layer_error < batch_error);
}

void systems(Report& report, const std::vector<CnnResult>& results) {
  Table table{"The cnn: test accuracy in percent, mean and spread over seeds",
              {"norm", "test accuracy", "published, on MNIST after 20 epochs"},
              {}};
  const char* published[] = {"99.14", "99.13", "99.09", "99.10", "99.25", "99.10", "99.35"};
  double least = 100, greatest = 0;
  double furthest = 0;  // of the detached systems, behind layer_simple
  std::string detached;
  for (std::size_t i = 0; i < 7; ++i) {
    const Spread accuracy(results[i].test_accuracy);
    table.rows.push_back({results[i].norm, accuracy.text(2), published[i]});
    if (results[i].norm.starts_with("detach")) {
      const double behind = Spread(results[2].test_accuracy).mean - accuracy.mean;
      furthest = std::max(furthest, behind);
      detached += fmt::format("{}{} {:.2f}", detached.empty() ? "" : ", ", results[i].norm, behind);
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
      fmt::format("behind it by {} points", detached), furthest < 2);
}

void first_epoch(Report& report, const std::vector<CnnResult>& results) {
  Table table{"The cnn: training loss over the first epoch", {"norm", "loss"}, {}};
  Diagram diagram{"The cnn in its first epoch", "updates", "training loss", {}};
  const auto result = [&](const std::string& norm) -> const CnnResult& {
    return *std::find_if(results.begin(), results.end(),
                         [&](const CnnResult& each) { return each.norm == norm; });
  };
  for (const char* norm : {"none", "layer", "batch", "instance", "group"}) {
    table.rows.push_back({norm, Spread(result(norm).first_epoch).text()});
    diagram.series.push_back(mean_curve(norm, result(norm).losses));
  }
  report.table(table);
  report.figure("first_epoch", diagram);
  const Spread none(result("none").first_epoch), layer(result("layer").first_epoch),
      batch(result("batch").first_epoch);
  report.claim(
      "On the cnn layer normalization learns faster than none, and batch normalization faster than "
      "layer normalization: losses of the first epoch, apart by more than their larger spread.",
      fmt::format("none {}, layer {}, batch {}", none.text(), layer.text(), batch.text()),
      none.mean - layer.mean > std::max(none.deviation, layer.deviation) &&
          layer.mean - batch.mean > std::max(layer.deviation, batch.deviation));
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags("mnist_norms", "Compares normalizations on handwritten digits.");
  MnistNormsFlags mnist;
  Report report;
  mnist.add_to(flags);
  report.add_to(flags);
  return flags.run(argc, argv, [&] {
    mnist.check();
    set_threads(mnist.threads);
    report.begin("mnist_norms", "Normalizations on handwritten digits", command_line(argc, argv));
    const ImageSets sets =
        mnist.data.empty() ? draw_image_sets(mnist.seed) : read_image_sets(mnist.data);
    expect<DataError>(sets.train.height == 28 && sets.train.width == 28 && sets.classes == 10,
                      "{}: the networks read images of 28 x 28 in 10 classes", sets.source);
    Laboratory laboratory(mnist, sets);
    report.paragraph(fmt::format(
        "Data: {}. An mlp 784-1000-1000-10 makes {} updates with batches of 128, {} with batches "
        "of 4; its test error is that of {} images. A cnn with batches of {} makes {} epochs of {} "
        "images; its test accuracy is that of {}. Adam with a rate of 0.001, {} seeds.",
        sets.source, mnist.updates, small_batch_updates * mnist.updates, laboratory.watched(),
        cnn_batch, mnist.epochs, laboratory.cnn_images(), sets.test.count(), mnist.seeds));
    batch_sizes(report, laboratory, mnist.updates);
    std::vector<CnnResult> results;
    for (const char* norm :
         {"none", "layer", "layer_simple", "detach", "detach_mean", "detach_variance", "ada"})
      results.push_back(laboratory.cnn(norm, mnist.epochs));
    systems(report, results);
    for (const char* norm : {"batch", "instance", "group"})
      results.push_back(laboratory.cnn(norm, 1));
    first_epoch(report, results);
    return report.finish();
  });
}
