#include "tapegrad/train/trainer.h"

#include <algorithm>
#include <utility>

#include "tapegrad/core/parallel.h"
#include "tapegrad/core/random.h"
#include "tapegrad/train/output.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// A program that prints its results may have nothing to return.
Json object_of(const Json& metrics) { return metrics.is_null() ? Json::object() : metrics; }

// The loss of the first step. A stream of random numbers that outlives it must be kept by
// checkpoints: otherwise it would begin anew after --resume.
Tensor loss_of_kept_streams(const Task& task, Index step) {
  const RandomJournal journal;
  const Tensor loss = task.loss(step);
  for (const RandomJournal::Entry& entry : journal.entries()) {
    const bool kept = *entry.random == nullptr ||
                      std::any_of(task.random.begin(), task.random.end(), [&](const auto& stream) {
                        return stream.second == *entry.random;
                      });
    expect<Error>(kept,
                  "trainer: the loss draws from a Random that Task::random does not list, so a "
                  "resumed training would draw other numbers; list it: .random = {{{{\"training\", "
                  "&random}}}}");
  }
  return loss;
}

void train_epochs(const Task& task, Run& run, const std::function<double(Index)>& step,
                  Training& updates) {
  while (!run.over()) {
    const double loss = step(run.steps_done());
    run.step(loss, updates.optimizer().learning_rate());
    const bool ends_epoch = run.step_of_epoch() == 0 || run.steps_done() == task.steps.total;
    if (!ends_epoch) continue;
    const Json metrics =
        task.evaluate ? object_of(updates.averaged(task.evaluate)) : Json::object();
    if (Plateau* plateau = updates.plateau())
      plateau->next(metrics.value("validation_loss", run.epoch_loss()));
    run.report(metrics);
  }
}

}  // namespace

Trainer::Trainer(Flags& flags, const RunFlags& run, const OptimizerFlags& optimizer)
    : flags_(flags),
      resumed_(notes_to_resume(run.resume, flags)),
      run_(run),
      optimizer_(optimizer) {
  optimizer_.check(flags);
  set_threads(run_.threads);
}

void Trainer::uses_data(const std::string& source, const std::string& digest) {
  expect_same_data(resumed_, run_.resume, source, digest);
  data_ = digest;
}

Checkpoint Trainer::checkpoint(const Task& task, Training& updates) const {
  Checkpoint saved{task.net, &updates.optimizer(), task.random, flags_.training_values()};
  saved.ema = updates.ema();
  saved.plateau = updates.plateau();
  if (!data_.empty()) saved.notes["data"] = data_;
  if (task.notes)
    for (const auto& [name, text] : task.notes()) saved.notes[name] = text;
  if (task.carried) task.carried(saved.net);
  return saved;
}

void Trainer::resume(const Task& task, Training& updates, Index steps_done) const {
  if (task.prepare) task.prepare(steps_done);
  Checkpoint into = checkpoint(task, updates);
  load_checkpoint(run_.resume, into);
  updates.resume(run_.resume, steps_done);
  if (flags_.extension().empty()) return;
  write_diagnostic(fmt::format(
      "{}: extended: {}{}\n", run_.resume, flags_.extension(),
      optimizer_.depends_on_length()
          ? fmt::format("; its {} steps had the learning rates of --schedule {} for the shorter "
                        "training, the others have those for the longer",
                        steps_done, optimizer_.schedule)
          : ""));
}

int Trainer::train(const Task& task) const {
  Training updates(optimizer_, run_, task.net, task.steps.total);
  const RunState state =
      resumed_state(resumed_, run_.resume, task.steps, !flags_.extension().empty());
  if (resumes()) resume(task, updates, state.steps);
  write_result(task.description);
  bool checks_streams = run_.dry_run || !run_.save.empty();
  const auto step = [&](Index i) {
    const bool first = std::exchange(checks_streams, false);
    return updates.step([&] { return first ? loss_of_kept_streams(task, i) : task.loss(i); });
  };
  if (run_.dry_run) {
    dry_run(flags_, task.net, [&] { return step(0); });
    return 0;
  }

  Run run(run_, flags_.values(), task.steps, state);
  run.saves([&] { updates.write_probe(); });
  run.saves_checkpoint([&] { return checkpoint(task, updates); });
  if (run_.overfit_batch)
    overfit(run, updates.optimizer(), [&] { return step(0); });
  else
    train_epochs(task, run, step, updates);
  updates.print_profile();
  if (run.interrupted()) {
    run.stop();
    return exit_interrupted;
  }
  Json results{{"parameters", parameter_count(task.net)}};
  if (task.finish) results.update(object_of(updates.averaged([&] { return task.finish(run); })));
  run.finish(results);
  return run.interrupted() ? exit_interrupted : 0;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
