#include "lab/digit_task.h"

#include <algorithm>
#include <memory>

#include "lab/paper_xu2019.h"
#include "lab/selected_training.h"
#include "tapegrad/models/conv_net.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

// What all trainings on these images share.
struct DigitData {
  ImageSet train, validation, test;
  DigitTaskOptions options;
};

// 100 for each image that is told apart rightly, 0 for the others.
std::vector<double> right_digits(const Layer& net, const ImageSet& set) {
  std::vector<double> right = support::misclassified(net, set);
  for (double& each : right) each = 100 * (1 - each);
  return right;
}

double digit_loss(const Layer& net, const ImageSet& set) {
  RunningMean loss;
  for (const auto& [images, labels] : Batches(set, 500))
    loss.add(cross_entropy(net(images), labels).item(), labels.size());
  return loss.value();
}

Outcome train_conv_net(const PaperTask& task, const DigitData& data, const TaskTrial& trial) {
  Random random = trial.trial.weights();
  const NormSpec norm(trial.setting.norm);
  const ConvNet net(random, {.norm = norm, .hidden_norm = norm});
  EpochBatches batches(data.train, data.options.batch_size, trial.trial.seed);
  return train_selected(
      {.net = fields(net),
       .optimizer = {.schedule = "constant", .learning_rate = trial.setting.rate},
       .steps = data.options.epochs * batches.per_epoch(),
       .stretch = batches.per_epoch(),
       .loss =
           [&](Index step) {
             const auto& [images, labels] = batches.at(step);
             return cross_entropy(net(images, training(random)), labels);
           },
       .validate =
           [&] {
             const Outcome found{.items = right_digits(net, data.validation)};
             return Validation{mean_of_items(found), digit_loss(net, data.validation)};
           },
       .test =
           [&](Outcome& outcome) {
             outcome.items = right_digits(net, data.test);
             outcome.values["test"] = mean_of_items(outcome);
           }},
      task.validation(), trial.tested, trial.seen);
}

// The answers of a rule that always says the most frequent digit.
Outcome majority_of_digits(const DigitData& data) {
  std::vector<Index> counts(256);
  for (const std::uint8_t label : data.train.labels) ++counts[label];
  const auto frequent = std::max_element(counts.begin(), counts.end()) - counts.begin();
  Outcome outcome;
  for (const std::uint8_t label : data.test.labels)
    outcome.items.push_back(label == frequent ? 100 : 0);
  outcome.values["test"] = mean_of_items(outcome);
  return outcome;
}

}  // namespace

MatrixTask digit_task(const support::ImageSets& sets, const DigitTaskOptions& o) {
  expect<DataError>(sets.train.height == 28 && sets.train.width == 28 && sets.classes == 10,
                    "{}: the network reads images of 28 x 28 in 10 classes", sets.source);
  using support::first_images;
  const auto data = std::make_shared<const DigitData>(
      DigitData{first_images(sets.train, o.limit), first_images(sets.validation, o.tested),
                first_images(sets.test, o.tested), o});
  const Index per_epoch = (data->train.count() + o.batch_size - 1) / o.batch_size;
  return {.name = "mnist",
          .source = sets.source,
          .data = fmt::format("{}, test {}", sets.digest(), sets.test_digest()),
          .configuration = {{"optimizer", "Adam\nconstant rate"},
                            {"initial values", "U(+-1/sqrt(inputs))"},
                            {"limit", o.limit},
                            {"batch_size", o.batch_size},
                            {"epochs", o.epochs},
                            {"tested", o.tested}},
          .rate = o.rate,
          .steps = o.epochs * per_epoch,
          .seconds = o.seconds,
          .train =
              [data](const TaskTrial& trial) {
                return train_conv_net(xu2019().task("mnist"), *data, trial);
              },
          .baselines = {{"majority", [data] { return majority_of_digits(*data); }}}};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
