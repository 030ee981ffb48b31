#include "experiments/selected_training.h"

#include <fmt/ranges.h>

#include <tuple>

#include "support/remedy.h"
#include "tapegrad/core/error.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/learner.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

std::string in_words(const OptimizerFlags& o) {
  std::vector<std::string> words{o.optimizer == "adam"    ? "Adam"
                                 : o.optimizer == "adamw" ? "AdamW"
                                                          : o.optimizer};
  if (o.beta2 != OptimizerFlags().beta2) words.push_back(fmt::format("betas 0.9 and {}", o.beta2));
  words.push_back(o.schedule == "constant"                 ? "constant rate"
                  : o.schedule == "warmup"                 ? "inverse square root"
                  : o.schedule == "cosine" && o.warmup > 0 ? "warmup and cosine"
                                                           : o.schedule);
  if (o.clip_each > 0) words.push_back(fmt::format("each gradient clipped to {}", o.clip_each));
  if (o.clip_norm > 0) words.push_back(fmt::format("clipped to {}", o.clip_norm));
  return fmt::format("{}", fmt::join(words, "\n"));
}

Outcome train_selected(const problems::Problem& problem, const Metric& metric,
                       const TaskTrial& trial) {
  if (problem.of_seed) return train_selected(problem.of_seed(trial.trial.seed), metric, trial);
  const Index eval_interval = problem.eval_interval;
  expect<ArgumentError>(eval_interval >= 1 && problem.steps % eval_interval == 0,
                        "train_selected: an interval of {} does not divide {} steps", eval_interval,
                        problem.steps);
  TaskTrial of_norm = trial;
  support::Remedy remedy;
  std::tie(of_norm.setting.norm, remedy) = support::norm_and_remedy(trial.setting.norm);
  Random random = trial.trial.weights();
  const std::unique_ptr<problems::Trainee> trainee = problem.trainee(of_norm, random);
  problems::Validation found;
  const Learner learner{.net = trainee->net(),
                        .steps = {.total = problem.steps, .per_epoch = eval_interval},
                        .loss =
                            [&](Index step) {
                              return support::remedied(remedy, [&] {
                                return trainee->loss(step, {0, 0, trainee->rows(step)}, random);
                              });
                            },
                        .validate =
                            [&] {
                              found = trainee->validate();
                              return Metrics{{metric.value, found.value}};
                            },
                        .metric = {metric.value, metric.higher_is_better}};
  OptimizerFlags optimizer = problem.optimizer;
  optimizer.learning_rate = trial.setting.rate;
  Training updates(optimizer, {.keep_best = true}, learner.net, problem.steps);
  support::set_remedy(
      updates.optimizer(), learner.net,
      [&](const std::string& name) { return trainee->feeds_norms(name); }, remedy);
  Outcome outcome;
  const BestValidation best =
      train(learner, updates,
            {.gradients = [&](Index, const auto& gradients) { trainee->watch(gradients); },
             .step =
                 [&](Index step, double loss) {
                   if (step == 1 && eval_interval > 1) outcome.curve.push_back({step, loss});
                   if (trial.seen) trial.seen(step, loss);
                 },
             .epoch =
                 [&](Index step, double loss, const Metrics&) {
                   outcome.curve.push_back({step, loss, found.loss});
                   for (const auto& [name, value] : found.traced)
                     outcome.traces[name].emplace_back(step, value);
                 }});
  outcome.values[metric.value] = best.value.value_or(NAN);
  outcome.values["training_loss"] = outcome.curve.back().training;
  outcome.values["validation_loss"] = *outcome.curve.back().validation;
  if (trial.tested)
    updates.at_best([&] {
      trainee->test(outcome);
      return Metrics();
    });
  return outcome;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
