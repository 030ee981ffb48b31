#include "lab/selected_training.h"

#include "tapegrad/core/error.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

class Updates {
 public:
  explicit Updates(const SelectedTraining& training)
      : training_(training),
        parameters_(parameters(training.net)),
        optimizer_(training.optimizer.make_optimizer(parameters_)),
        schedule_(training.optimizer.make_schedule(training.steps)) {}

  /// Takes a step. Returns the loss of its batch.
  double next() {
    const Tape tape;
    const Tensor loss = training_.loss(step_);
    const std::vector<Tensor> gradients = grad(loss, parameters_);
    if (training_.gradients) training_.gradients(gradients);
    optimizer_->set_learning_rate(schedule_(step_++));
    optimizer_->step(training_.optimizer.clipped(gradients));
    return loss.item();
  }

 private:
  const SelectedTraining& training_;
  std::vector<Parameter> parameters_;
  std::unique_ptr<Optimizer> optimizer_;
  Schedule schedule_;
  Index step_ = 0;
};

}  // namespace

Outcome train_selected(const SelectedTraining& training, const Metric& metric, bool tested,
                       const std::function<void(Index step, double loss)>& seen) {
  const Index stretch = training.stretch;
  expect<ArgumentError>(stretch >= 1 && training.steps % stretch == 0,
                        "train_selected: stretches of {} do not divide {} steps", stretch,
                        training.steps);
  Updates updates(training);
  Outcome outcome;
  std::optional<NetState> best;
  RunningMean mean;
  for (Index step = 1; step <= training.steps; ++step) {
    const double loss = updates.next();
    mean.add(loss);
    if (step == 1) outcome.curve.push_back({step, loss});
    if (seen) seen(step, loss);
    if (step % stretch != 0) continue;
    const Validation found = training.validate();
    outcome.curve.push_back({step, mean.value(), found.loss});
    for (const auto& [name, value] : found.traced) outcome.traces[name].emplace_back(step, value);
    mean = {};
    if (best && !(metric.advantage(found.value, outcome.values[metric.value]) > 0)) continue;
    outcome.values[metric.value] = found.value;
    best.emplace(training.net);
  }
  outcome.values["training_loss"] = outcome.curve.back().training;
  outcome.values["validation_loss"] = *outcome.curve.back().validation;
  if (!tested) return outcome;
  best->swap();
  training.test(outcome);
  return outcome;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
