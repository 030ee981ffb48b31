#include "lab/perceptron_task.h"

#include <memory>

#include "lab/paper_ba2016.h"
#include "lab/selected_training.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

// What all trainings on these images share.
struct PerceptronData {
  ImageSet train, validation, test;
  PerceptronTaskOptions options;
};

// 100 for each image that is not told apart, 0 for the others.
Outcome wrong_digits(const Layer& net, const ImageSet& set) {
  Outcome outcome{.items = support::misclassified(net, set)};
  for (double& each : outcome.items) each *= 100;
  return outcome;
}

double error_of(const Layer& net, const ImageSet& set) {
  return mean_of_items(wrong_digits(net, set));
}

Outcome train_perceptron(const PaperTask& task, const PerceptronData& data,
                         const TaskTrial& trial) {
  const PerceptronTaskOptions& o = data.options;
  Random random = trial.trial.weights();
  const Layer net = make_perceptron(trial.setting.norm, random);
  EpochBatches batches(data.train, o.batch_size, trial.trial.seed);
  return train_selected(
      {.net = fields(net),
       .optimizer = {.schedule = "constant", .learning_rate = trial.setting.rate},
       .steps = o.steps(),
       .stretch = o.steps() / o.points,
       .loss =
           [&](Index step) {
             const auto& [images, labels] = batches.at(step);
             return cross_entropy(net(images, training(random)), labels);
           },
       .validate =
           [&] {
             const double error = error_of(net, data.validation);
             return Validation{error, error, {{"test_error", error_of(net, data.test)}}};
           },
       .test =
           [&](Outcome& outcome) {
             outcome.items = wrong_digits(net, data.test).items;
             outcome.values["test"] = mean_of_items(outcome);
           }},
      task.validation(), trial.tested, trial.seen);
}

}  // namespace

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

MatrixTask perceptron_task(const support::ImageSets& sets, const PerceptronTaskOptions& o) {
  expect<DataError>(sets.train.height == 28 && sets.train.width == 28 && sets.classes == 10,
                    "{}: the network reads images of 28 x 28 in 10 classes", sets.source);
  using support::first_images;
  const auto data = std::make_shared<const PerceptronData>(
      PerceptronData{first_images(sets.train, o.limit), first_images(sets.validation, o.tested),
                     first_images(sets.test, o.tested), o});
  const PaperTask& task = ba2016().task(fmt::format("mnist_{}", o.batch_size));
  return {.name = task.name,
          .source = sets.source,
          .data = fmt::format("{}, test {}", sets.digest(), sets.test_digest()),
          .configuration = {{"optimizer", "Adam\nconstant rate"},
                            {"initial values", "U(+-1/sqrt(inputs))"},
                            {"batch_size", o.batch_size},
                            {"limit", o.limit},
                            {"images", o.images},
                            {"points", o.points},
                            {"tested", o.tested}},
          .rate = o.rate,
          .steps = o.steps(),
          .seconds = o.seconds,
          .train = [data,
                    &task](const TaskTrial& trial) { return train_perceptron(task, *data, trial); },
          .baselines = {{"linear_softmax",
                         [data, &task] {
                           const TaskTrial once{{"linear_softmax", data->options.rate}, {1}, true};
                           return train_perceptron(task, *data, once);
                         }}},
          .systems = task.systems};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
