#include "tapegrad/train/trainer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "tapegrad/core/machine/instruction_set.h"
#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/random.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/internal/loop.h"
#include "tapegrad/train/json.h"
#include "tapegrad/train/output.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// The notes of the checkpoint with which to go back; none at the start.
std::map<std::string, std::string> notes_of(const PastRun& past) {
  return past.checkpoint().empty() ? std::map<std::string, std::string>()
                                   : checkpoint_notes(past.checkpoint());
}

// The steps of a learner, by all processes together.
class Steps {
 public:
  Steps(const Learner& learner, Training& updates, Cluster& cluster, bool checks_streams)
      : learner_(learner), updates_(updates), cluster_(cluster), loss_(learner, checks_streams) {}

  /// Takes a step on a whole batch; returns its loss.
  double on_whole(Index step) {
    return updates_.step([&] { return loss_.of_whole(step); });
  }
  /// Takes a step of the run, on the shards of the batch if there are several; returns its loss.
  double take(Index step, Run& run) {
    RunSignals wanted = run.signals();
    const auto of_shard = [&](const Shard& shard) { return loss_.of(step, shard); };
    updates_.measure_gradient_norm(run.next_needs_norm());
    const double value = cluster_.shards() == 1
                             ? on_whole(step)
                             : updates_.step(cluster_, learner_.loss.rows(step), of_shard, wanted);
    run.step({.loss = value,
              .learning_rate = updates_.optimizer().learning_rate(),
              .gradient_norm = updates_.gradient_norm(),
              .rows = learner_.loss.rows(step)},
             wanted);
    return value;
  }

 private:
  const Learner& learner_;
  Training& updates_;
  Cluster& cluster_;
  detail::StepLoss loss_;
};

}  // namespace

Trainer::Trainer(TrainerFlags& flags)
    : flags_(flags),
      past_(PastRun::of(flags.run_flags, flags)),
      resumed_(past_ ? notes_of(*past_) : notes_to_resume(flags.run_flags.resume, flags)),
      cluster_(std::make_unique<Cluster>(ClusterOptions{.shards = flags.run_flags.shards})),
      optimizer_(flags.optimizer) {
  RunFlags& run = flags.run_flags;
  run.shards = cluster_->shards();
  expect_same_on_all(past_ ? past_->checkpoint() : run.resume);
  if (!cluster_->is_first()) {
    run.log_dir.clear();
    silence_results();
  }
  run_ = run;
  if (past_) run_.resume = past_->checkpoint();
  optimizer_.check(flags);
  set_threads(run_.threads);
  if (threads() < run_.threads)
    write_diagnostic(
        fmt::format("--threads: the system starts {} of {}\n", threads(), run_.threads));
}

void Trainer::uses_data(const std::string& source, const std::string& digest) {
  const std::string note = data_.empty() ? "data" : fmt::format("data.{}", data_.size());
  if (!past_) expect_same_data(resumed_, note, run_.resume, source, digest);
  data_[note] = digest;
}

Checkpoint Trainer::checkpoint(const Learner& learner, Training& updates) const {
  Checkpoint saved{learner.net, &updates.optimizer(), learner.random, flags_.training_values()};
  saved.ema = updates.ema();
  saved.plateau = updates.plateau();
  saved.best = updates.best();
  saved.notes.insert(data_.begin(), data_.end());
  if (learner.notes)
    for (const auto& [name, text] : learner.notes()) saved.notes[name] = text;
  if (learner.carried) learner.carried(saved.carried);
  return saved;
}

void Trainer::resume(const Learner& learner, Training& updates, RunState& state) const {
  const Index steps_done = state.steps;
  if (learner.prepare) learner.prepare(steps_done);
  if (state.best.value) updates.keep();  // the file has values for it
  Checkpoint into = checkpoint(learner, updates);
  if (run_.fork > 0)
    begin_fork(into, updates, state);
  else
    load_checkpoint(run_.resume, into);
  updates.resume(run_.resume, steps_done, state.optimizer_began,
                 past_ ? past_->directory() : run_.log_dir);
  if (past_ || flags_.changes().empty() || !cluster_->is_first()) return;
  write_diagnostic(fmt::format(
      "{}: extended: {}{}\n", run_.resume, flags_.changes().begin()->second,
      optimizer_.depends_on_length()
          ? fmt::format("; its {} steps had the learning rates of --schedule {} for the shorter "
                        "training, the others have those for the longer",
                        steps_done, optimizer_.schedule)
          : ""));
}

void Trainer::begin_fork(Checkpoint& into, Training& updates, RunState& state) const {
  if (flags_.changes().contains("--keep-best"))
    throw FlagError("--keep-best", "a fork keeps it as it was");
  if (flags_.changes().contains("--seed")) into.random.clear();  // their new beginnings stay
  const Unfit unfit = load_fitting(run_.resume, into);
  state.optimizer_began = state.steps - updates.optimizer().steps();
  if (!cluster_->is_first()) return;
  const std::vector<std::string> changes = past_->differences(flags_, data_);
  write_diagnostic(fmt::format(
      "{}: forked after step {}: {}\n", past_->directory(), run_.fork,
      changes.empty() ? "with nothing changed" : fmt::to_string(fmt::join(changes, ", "))));
  for (const auto& [what, names] :
       {std::pair{"begin anew, since it has none that fit", unfit.missing},
        {"are left behind", unfit.unused}})
    if (!names.empty())
      write_diagnostic(fmt::format("these {}: {}\n", what, fmt::join(names, ", ")));
}

int Trainer::report_rewound(Run& run, const Training& updates) const {
  expect<Error>(run.steps_done() == run_.rewind, "--rewind: --patience ended the run after step {}",
                run.steps_done());
  updates.write_probe();
  const auto& [loss, rate, norm, rows] = run.last();
  const Replay& replay = run.replay();
  write_result(fmt::format("step {}: loss {:.6g}, learning rate {:.4g}, norm of gradients {:.4g}\n",
                           run_.rewind, loss, rate, std::abs(norm.value_or(NAN))));
  const bool is_compared = !replay.lacks_rows(), is_equal = replay.difference().empty();
  write_result(fmt::format(
      "computed again from {}: {}\n", resumes() ? run_.resume : "the start",
      is_compared ? fmt::format("{} rows of the log are equal to the bit", replay.equal())
                  : fmt::format("nothing could be compared, since {}/{} lacks the rows",
                                past_->directory(), rows_file)));
  if (is_compared && is_equal) {
    if (std::isfinite(loss) && !run_.adds_probe) run.keep();
  } else if (!is_equal) {
    const std::vector<std::string> changes = past_->differences(flags_, data_);
    write_result(fmt::format("the first difference: {}\nwhat has changed: {}\n",
                             replay.difference(),
                             changes.empty() ? "no flag, no data, neither version nor instruction "
                                               "set; so a build, or a source that is not seeded"
                                             : fmt::to_string(fmt::join(changes, ", "))));
  }
  const std::string probes =
      run_.probe ? fmt::format(", {}, {}", probe_norms_file, probe_weights_file) : "";
  write_result(fmt::format("{}: {}, {}, {}{}\n", step_directory(run_.log_dir, run_.rewind),
                           tape_file, trace_file, batch_file, probes));
  return is_compared && is_equal ? 0 : 1;
}

// Before any of them acts upon a flag, or upon the checkpoint with which the run begins.
void Trainer::expect_same_on_all(const std::string& begins_with) const {
  if (cluster_->size() == 1) return;
  cluster_->expect_same("version", TAPEGRAD_VERSION);
  cluster_->expect_same("instruction set, see TAPEGRAD_TARGET,", instruction_set());
  Digest checkpoint;
  if (!begins_with.empty()) {
    const FileBytes file = read_file(begins_with);
    checkpoint.add(file.bytes().data(), file.bytes().size());
  }
  cluster_->expect_same(past_ ? "the state to go back to" : "the checkpoint of --resume",
                        checkpoint.to_string());
  for (const auto& [flag, value] : flags_.shared_values()) cluster_->expect_same(flag, value);
}

// The learner must validate where a flag needs it and allow parts, and all processes must have the
// same data.
void Trainer::expect_trainable(const Learner& learner) const {
  for (const auto& [flag, given] :
       {std::pair{"--patience", run_.patience > 0}, {"--keep-best", run_.keep_best}})
    if (given && !learner.validate)
      throw FlagError(flag, "this program does not validate while it trains");
  if (run_.rewind > learner.steps.total || run_.fork > learner.steps.total)
    throw FlagError(run_.rewind > 0 ? "--rewind" : "--fork",
                    fmt::format("the run has {} steps", learner.steps.total));
  if (cluster_->shards() == 1) return;
  const auto refuse = [](const std::string& why) { throw FlagError("--shards", why); };
  if (!learner.loss.has_parts()) refuse("this program computes the loss of whole batches only");
  if (run_.probe) refuse("--probe records whole batches only");
  if (run_.rewind > 0) refuse("--rewind examines whole batches only");
  if (const Index rows = learner.loss.rows(0); rows < cluster_->shards())
    refuse(fmt::format("{} are more than the {} rows of a batch", cluster_->shards(), rows));
  cluster_->expect_same("data", Json(data_).dump());
}

// The state of a kept step with which the run begins.
void Trainer::expect_of_its_step(Index steps_done) const {
  const std::string& log = past_ ? past_->directory() : run_.log_dir;
  if (!resumes() || log.empty()) return;
  for (const Index step : kept_steps(log))
    expect<DataError>(step == steps_done || !same_file(run_.resume, kept_checkpoint(log, step)),
                      "{}: it is the state after step {}, not of its folder's step; remove it",
                      run_.resume, steps_done);
}

const Run& Trainer::run() const {
  expect<Error>(current_ != nullptr, "trainer: no run is under way; ask within `train`");
  return *current_;
}

int Trainer::train(const Learner& learner) {
  expect_trainable(learner);
  const PrecisionScope products(run_.products());
  RunFlags of_steps = run_;
  if (run_.rewind > 0) {
    of_steps.log_dir = step_directory(run_.log_dir, run_.rewind);
    of_steps.probe = past_->probed();
  }
  Training updates(optimizer_, of_steps, learner.net, learner.steps.total);
  detail::follow(learner, updates);
  RunState state = resumed_state(resumed_, run_.resume, learner.steps, !flags_.changes().empty());
  expect_of_its_step(state.steps);
  if (resumes()) resume(learner, updates, state);
  if (run_.rewind > 0) updates.examine(run_.rewind, run_.probe);
  cluster_->broadcast(learner.net);
  write_result(learner.description);
  Steps steps(learner, updates, *cluster_, run_.dry_run || !run_.save.empty());
  if (run_.dry_run) {
    dry_run(flags_, learner.net, [&] { return steps.on_whole(0); });
    return 0;
  }

  Run run(run_, configuration_of(flags_, data_), learner.steps, state, cluster_.get());
  const Scoped<const Run*> during(current_, &run);
  if (run_.rewind == 0) run.saves([&] { updates.write_probe(); });
  run.saves_checkpoint([&] { return checkpoint(learner, updates); });
  // Before the first step, what is carried is what was loaded: the shards have none yet to gather.
  if (run_.fork > 0 && run_.keep_every > 0) run.keep();
  if (learner.gather) run.before_saves(learner.gather);
  if (run_.overfit_batch)
    overfit(run, [&] { return steps.take(0, run); });
  else
    detail::train_epochs(learner, updates, run, [&](Index step) { steps.take(step, run); });
  updates.print_profile();
  if (run.interrupted()) {
    run.stop();
    return exit_interrupted;
  }
  if (run_.rewind > 0) return report_rewound(run, updates);
  Metrics results{{"parameters", parameter_count(learner.net)}};
  results.update(run.tell_best(learner.metric));
  if (learner.test) results.update(updates.at_best(learner.test));
  run.finish(results);
  if (NetState* best = updates.best()) best->swap();
  return run.interrupted() ? exit_interrupted : 0;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
