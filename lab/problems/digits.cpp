#include "problems/digits.h"

#include <algorithm>

#include "tapegrad/models/conv_net.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::problems {
namespace {

using namespace support;
using lab::Outcome;

// The first images of each part. Throws DataError for images of another size than MNIST's.
std::shared_ptr<const ImageSets> limited(ImageSets sets, Index limit, Index tested) {
  expect<DataError>(sets.train.height == 28 && sets.train.width == 28 && sets.classes == 10,
                    "{}: the network reads images of 28 x 28 in 10 classes", sets.source);
  sets.train = first_images(sets.train, limit);
  sets.validation = first_images(sets.validation, tested);
  sets.test = first_images(sets.test, tested);
  return std::make_shared<const ImageSets>(std::move(sets));
}

// A net that classifies digits.
class DigitTrainee : public Trainee {
 public:
  DigitTrainee(const ImageSets& sets, Layer net, Index batch_size, std::uint64_t seed)
      : sets_(sets), net_(std::move(net)), batches_(sets.train, batch_size, seed) {}

  Fields net() const override { return fields(net_); }
  Index rows(Index step) override { return batches_.at(step).labels.size(); }
  Tensor loss(Index step, const Shard& shard, Random& random) override {
    const auto& [images, labels] = batches_.at(step);
    return cross_entropy(net_(part(images, shard.begin, shard.end), training(random)),
                         part(labels, shard.begin, shard.end));
  }
  void test(Outcome& outcome) override {
    outcome.items = items(sets_.test);
    outcome.values["test"] = mean_of_items(outcome);
  }

 protected:
  // The score of each image, in percent.
  virtual std::vector<double> items(const ImageSet& set) const = 0;
  double mean_item(const ImageSet& set) const { return lab::mean_of_items({.items = items(set)}); }

  const ImageSets& sets_;
  Layer net_;

 private:
  EpochBatches<ImageSet> batches_;
};

// Counts right answers.
class ConvTrainee : public DigitTrainee {
 public:
  using DigitTrainee::DigitTrainee;

  Validation validate() override {
    return {mean_item(sets_.validation), mean_cross_entropy(net_, sets_.validation)};
  }
  bool feeds_norms(const std::string& parameter) const override {
    return !parameter.starts_with("output.");
  }

 private:
  std::vector<double> items(const ImageSet& set) const override {
    std::vector<double> right = misclassified(net_, set);
    for (double& each : right) each = 100 * (1 - each);
    return right;
  }
};

// Counts wrong answers.
class PerceptronTrainee : public DigitTrainee {
 public:
  using DigitTrainee::DigitTrainee;

  Validation validate() override {
    const double error = mean_item(sets_.validation);
    return {error, error, {{"test_error", mean_item(sets_.test)}}};
  }

 private:
  std::vector<double> items(const ImageSet& set) const override {
    std::vector<double> wrong = misclassified(net_, set);
    for (double& each : wrong) each *= 100;
    return wrong;
  }
};

// The answers of a rule that always chooses the most frequent digit.
Outcome majority_of_digits(const ImageSets& data) {
  std::vector<Index> counts(256);
  for (const std::uint8_t label : data.train.labels) ++counts[label];
  const auto frequent = std::max_element(counts.begin(), counts.end()) - counts.begin();
  Outcome outcome;
  for (const std::uint8_t label : data.test.labels)
    outcome.items.push_back(label == frequent ? 100 : 0);
  outcome.values["test"] = mean_of_items(outcome);
  return outcome;
}

// Its hidden layer has no positions for instance normalization.
ConvNet make_conv_net(const NormSpec& norm, Random& random) {
  return ConvNet(random,
                 {.norm = norm, .hidden_norm = norm.method->needs_positions ? "none" : norm});
}

}  // namespace

ImageSets image_sets(const Origin& origin) {
  return origin.is_drawn() ? draw_image_sets(origin.seed) : read_image_sets(origin.directory);
}

Problem conv_problem(const ImageSets& all, const ConvSizes& o) {
  const auto sets = limited(all, o.limit, o.tested);
  const Index per_epoch = (sets->train.count() + o.batch_size - 1) / o.batch_size;
  return {.source = all.source,
          .data = fmt::format("{}, test {}", all.digest(), all.test_digest()),
          .initial_values = "U(+-1/sqrt(inputs))",
          .sizes = {{"limit", o.limit},
                    {"batch_size", o.batch_size},
                    {"epochs", o.epochs},
                    {"tested", o.tested}},
          .optimizer = {.schedule = "constant"},
          .steps = o.epochs * per_epoch,
          .eval_interval = per_epoch,
          .rate = o.rate,
          .seconds = o.seconds,
          .trainee =
              [sets, o](const lab::TaskTrial& trial, Random& random) {
                return std::make_unique<ConvTrainee>(*sets,
                                                     make_conv_net(trial.setting.norm, random),
                                                     o.batch_size, trial.trial.seed);
              },
          .baselines = {{"majority", [sets] { return majority_of_digits(*sets); }}}};
}

Problem conv_problem(const Origin& origin, Size size) {
  const ConvSizes small{.limit = 128, .epochs = 2, .tested = 100, .seconds = 0.2};
  return conv_problem(image_sets(origin), size == Size::smoke ? small : ConvSizes());
}

Layer make_perceptron(const std::string& system, Random& random) {
  if (system == "linear_softmax") return Sequential{Flatten(), Linear(784, 10, random)};
  const NormSpec norm = system == "batch_biased"      ? NormSpec("batch")
                        : system.starts_with("batch") ? NormSpec("batch:unbiased=1")
                                                      : NormSpec(system);
  const bool of_logits = system == "batch" || system == "batch_biased";
  return Sequential{Flatten(), Linear(784, 1000, random),  Norm(norm, 1000),
                    relu,      Linear(1000, 1000, random), Norm(norm, 1000),
                    relu,      Linear(1000, 10, random),   Norm(of_logits ? norm : NormSpec(), 10)};
}

Problem perceptron_problem(const ImageSets& all, const PerceptronSizes& o) {
  const auto sets = limited(all, o.limit, o.tested);
  return {.source = all.source,
          .data = fmt::format("{}, test {}", all.digest(), all.test_digest()),
          .initial_values = "U(+-1/sqrt(inputs))",
          .sizes = {{"batch_size", o.batch_size},
                    {"limit", o.limit},
                    {"images", o.images},
                    {"points", o.points},
                    {"tested", o.tested}},
          .optimizer = {.schedule = "constant"},
          .steps = o.steps(),
          .eval_interval = o.steps() / o.points,
          .rate = o.rate,
          .seconds = o.seconds,
          .trainee =
              [sets, o](const lab::TaskTrial& trial, Random& random) {
                return std::make_unique<PerceptronTrainee>(
                    *sets, make_perceptron(trial.setting.norm, random), o.batch_size,
                    trial.trial.seed);
              },
          .trained_baselines = {"linear_softmax"}};
}

Problem perceptron_problem(Index batch_size, const Origin& origin, Size size) {
  if (size == Size::smoke)
    return perceptron_problem(image_sets(origin), {.batch_size = batch_size,
                                                   .limit = 512,
                                                   .images = 512,
                                                   .points = 4,
                                                   .tested = 40,
                                                   .seconds = 0.1});
  return perceptron_problem(image_sets(origin),
                            {.batch_size = batch_size, .seconds = batch_size == 4 ? 120.0 : 41.0});
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
