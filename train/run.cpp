#include "tapegrad/train/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tapegrad/core/error.h"
#include "tapegrad/core/machine/instruction_set.h"
#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/io/file.h"
#include "tapegrad/train/file_flags.h"
#include "tapegrad/train/json.h"
#include "tapegrad/train/output.h"
#include "tapegrad/train/resume.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

constexpr const char* steps_note = "steps_done";
constexpr const char* epoch_loss_note = "epoch_loss";
constexpr const char* row_loss_note = "row_loss";
constexpr const char* extended_note = "extended_at";
constexpr const char* best_note = "best_validation";
constexpr const char* optimizer_note = "optimizer_began";

constexpr const char* non_finite_advice =
    "lower --lr, limit gradients with --clip-norm, or find the operation with --check-nan";

std::string note_text(const RunningMean& mean) { return Json({mean.sum, mean.count}).dump(); }

std::optional<RunningMean> parse_mean(const Json& note) {
  constexpr std::uint64_t most_rows = std::uint64_t{1} << 53;  // the whole numbers of a double
  if (!note.is_array() || note.size() != 2 || !note[0].is_number()) return {};
  if (!note[1].is_number_unsigned() || note[1].get<std::uint64_t>() > most_rows) return {};
  const RunningMean mean{note[0].get<double>(), note[1].get<Index>()};
  return mean.count == 0 && mean.sum != 0 ? std::nullopt : std::optional(mean);
}

// The best validation of a run of so many steps.
std::optional<BestValidation> parse_best(const Json& note, Index steps) {
  if (!note.is_array() || note.size() != 3 || !(note[0].is_number() || note[0].is_null()))
    return {};
  if (!note[1].is_number_unsigned() || !note[2].is_number_unsigned()) return {};
  BestValidation best{.step = note[1].get<Index>(), .failed = note[2].get<Index>()};
  if (note[0].is_number()) best.value = note[0].get<double>();
  const bool possible = 0 <= best.step && best.step <= steps && 0 <= best.failed &&
                        best.failed <= steps && std::isfinite(best.value.value_or(0));
  return possible ? std::optional(best) : std::nullopt;
}

std::string in_words(std::string metric) {
  std::replace(metric.begin(), metric.end(), '_', ' ');
  return metric;
}

// From then on, a mean of an extended run is over as many steps as a mean of any other.
Index settled_after(const RunSteps& steps) { return std::max(steps.per_epoch, steps.per_row()); }

// The last step whose checkpoint is in the --save file.
Index already_saved(const RunFlags& flags, Index steps_done) {
  constexpr Index none = -1;
  const bool elsewhere =
      !flags.save.empty() && !flags.resume.empty() && !same_file(flags.save, flags.resume);
  return elsewhere ? none : steps_done;
}

// Calls each, even after another has failed. Throws DataError with all failures, but
// NonFiniteError at once: it will not pass.
void write_all(const std::vector<std::function<void()>>& writes) {
  std::string failures;
  for (const auto& write : writes) try {
      write();
    } catch (const NonFiniteError&) {
      throw;
    } catch (const std::exception& error) {
      failures += (failures.empty() ? "" : "; ") + std::string(error.what());
    }
  expect<DataError>(failures.empty(), "{}", failures);
}

}  // namespace

Index RunSteps::per_row() const {
  constexpr Index rows = 200;  // in a whole run
  return std::max<Index>(1, total / rows);
}

double ValidationMetric::of(const Metrics& metrics) const {
  expect<Error>(metrics.contains(name),
                "--keep-best, --patience: the validation returns no {}; set Learner::metric to "
                "what it returns: {}",
                name, Json(metrics).dump());
  return metrics.number(name);
}

bool BestValidation::next(double found, Index steps, const ValidationMetric& metric) {
  const bool better = std::isfinite(found) &&
                      (!value || (metric.higher_is_better ? found > *value : found < *value));
  ++failed;
  if (better) *this = {.value = found, .step = steps};
  return better;
}

std::map<std::string, std::string> RunState::notes() const {
  std::map<std::string, std::string> notes{{steps_note, std::to_string(steps)},
                                           {epoch_loss_note, note_text(epoch_loss)},
                                           {row_loss_note, note_text(row_loss)}};
  if (extended_at) notes[extended_note] = std::to_string(*extended_at);
  if (optimizer_began > 0) notes[optimizer_note] = std::to_string(optimizer_began);
  const Json value = best.value ? Json(*best.value) : Json();
  if (best.value || best.failed > 0)
    notes[best_note] = Json::array({value, best.step, best.failed}).dump();
  return notes;
}

RunState resumed_state(const std::map<std::string, std::string>& notes, const std::string& resume,
                       const RunSteps& steps, bool extended) {
  if (notes.empty()) return {};
  RunState state;
  state.steps = parsed_note(notes, steps_note, resume, [&](const Json& note) {
    const Index done = note.is_number_unsigned() ? note.get<Index>() : -1;
    return 0 <= done && done <= steps.total ? std::optional(done) : std::nullopt;
  });
  if (notes.contains(extended_note))
    state.extended_at = parsed_note(notes, extended_note, resume, [&](const Json& note) {
      const Index at = note.is_number_unsigned() ? note.get<Index>() : -1;
      const bool counts = 0 <= at && at <= state.steps && state.steps - at < settled_after(steps);
      return counts ? std::optional(at) : std::nullopt;
    });
  if (notes.contains(optimizer_note))
    state.optimizer_began = parsed_note(notes, optimizer_note, resume, [&](const Json& note) {
      const Index at = note.is_number_unsigned() ? note.get<Index>() : -1;
      return 0 <= at && at <= state.steps ? std::optional(at) : std::nullopt;
    });
  if (notes.contains(best_note))
    state.best = parsed_note(notes, best_note, resume,
                             [&](const Json& note) { return parse_best(note, state.steps); });
  const Index at_most = state.steps - state.extended_at.value_or(0);
  // Each step has at least one row. Checkpoints of version 0.2 count each as one row.
  const auto mean_over = [&](const char* name, Index count) {
    return parsed_note(notes, name, resume, [&](const Json& note) {
      const std::optional<RunningMean> mean = parse_mean(note);
      const Index least = std::min(count, at_most);
      const bool right = mean && mean->count >= least && (mean->count > 0) == (least > 0);
      return extended || right ? mean : std::nullopt;
    });
  };
  const Index of_epoch = state.steps == 0 ? 0 : (state.steps - 1) % steps.per_epoch + 1;
  state.epoch_loss = mean_over(epoch_loss_note, of_epoch);
  state.row_loss = mean_over(row_loss_note, state.steps % steps.per_row());
  if (!extended) return state;
  return {.steps = state.steps,
          .extended_at = state.steps,
          .optimizer_began = state.optimizer_began,
          .best = state.best};
}

Run::Run(const RunFlags& flags, const Json& configuration, const RunSteps& steps,
         const RunState& state, const Cluster* cluster)
    : steps_(steps),
      state_(state),
      last_step_(flags.rewind > 0 ? flags.rewind : steps.total),
      keeps_best_(flags.keep_best),
      patience_(flags.patience),
      alone_(cluster == nullptr || cluster->size() == 1),
      writes_(alone_ || cluster->is_first()),
      first_step_(state.steps),
      save_path_(writes_ ? flags.save : ""),
      log_directory_(writes_ ? flags.log_dir : ""),
      keep_every_(flags.keep_every),
      log_(flags.rewind > 0 ? "" : log_directory_, configuration, state.steps, flags.tensorboard,
           flags.original),
      save_every_(parse_save_interval(flags.save_every).value_or(SaveInterval())),
      saved_step_(already_saved(flags, state.steps)),
      tried_step_(state.steps),
      progress_(last_step_, state.steps, flags.quiet || !writes_),
      interrupt_(flags.quiet || !writes_) {
  if (!save_path_.empty()) {
    save_lock_.emplace(claim_output("--save", save_path_));
    expect_replaceable(save_path_, flags.resume);  // a run may have ended since the flags were read
  }
  // Added probes may change the last bits of the step for which they are wanted.
  if (flags.rewind > 0)
    replay_.emplace(flags.log_dir, state.steps, flags.adds_probe ? last_step_ - 1 : last_step_);
}

void Run::saves(std::function<void()> write) { saves_.push_back(std::move(write)); }

void Run::saves_checkpoint(std::function<Checkpoint()> make) {
  make_checkpoint_ = std::move(make);
  if (keep_every_ > 0 && !log_directory_.empty())
    for (Index step = (state_.steps / keep_every_ + 1) * keep_every_; step <= last_step_;
         step += keep_every_)
      expect_own_step(step_directory(log_directory_, step));
  if (save_path_.empty()) return;
  expect_writable(save_path_);
  saves([this] { write_checkpoint(save_path_); });
}

void Run::write_checkpoint(const std::string& path) const {
  Checkpoint checkpoint = make_checkpoint_();
  for (const auto& [name, text] : state_.notes()) checkpoint.notes[name] = text;
  checkpoint.notes["instruction_set"] = instruction_set();
  try {
    save_checkpoint(path, checkpoint);
  } catch (const NonFiniteError& error) {
    throw NonFiniteError(fmt::format("step {}: {}; nothing was written; {}", state_.steps,
                                     error.what(), non_finite_advice));
  }
}

void Run::keep() {
  before_saves_();
  if (log_directory_.empty()) return;
  const std::string directory = step_directory(log_directory_, state_.steps);
  expect_own_step(directory);
  log([this] { log_.start(); });
  make_directory(directory);
  write_checkpoint(kept_checkpoint(log_directory_, state_.steps));
}

void Run::keep_if_due() {
  if (keep_every_ == 0 || state_.steps % keep_every_ != 0) return;
  try {
    keep();
  } catch (const DataError& error) {
    progress_.warning(
        fmt::format("cannot keep step {}: {}; continuing", state_.steps, error.what()));
  }
}

void Run::log(const std::function<void()>& write) {
  try {
    write();
    log_failure_.clear();
  } catch (const std::exception& error) {
    if (log_failure_ == error.what()) return;  // already reported
    log_failure_ = error.what();
    progress_.warning(
        fmt::format("cannot log: {}; continuing, will try again later", log_failure_));
  }
}

void Run::save() {
  tried_step_ = state_.steps;
  tried_seconds_ = progress_.seconds();
  before_saves_();
  try {
    write_all(saves_);
    saved_step_ = state_.steps;
  } catch (const DataError& error) {
    progress_.warning(
        fmt::format("cannot save: {}; continuing, will try again later", error.what()));
  }
}

void Run::log_row(const Metrics& row) {
  if (replay_) replay_->compare(row);
  log([&] { log_.row(row); });
}

RunSignals Run::signals() const {
  const bool due = progress_.seconds() - tried_seconds_ >= save_every_.seconds;
  return {.stop = interrupt_.requested(), .save = writes_ && due};
}

void Run::step(const StepResult& result, const RunSignals& wanted) {
  const auto& [loss, learning_rate, gradient_norm, rows] = result;
  const bool is_examined = replay_ && state_.steps + 1 == last_step_;
  expect<NonFiniteError>(std::isfinite(loss) || is_examined, "step {}: the loss is {}; {}",
                         state_.steps + 1, loss, non_finite_advice);
  if (state_.steps == first_step_) log([this] { log_.start(); });
  if (step_of_epoch() == 0) state_.epoch_loss = {};
  ++state_.steps;
  if (state_.extended_at && state_.steps - *state_.extended_at >= settled_after(steps_))
    state_.extended_at.reset();
  last_ = result;
  state_.epoch_loss.add(loss, rows);
  state_.row_loss.add(loss, rows);
  progress_.step(state_.steps, loss);
  if (state_.steps % steps_.per_row() == 0) {
    Metrics row{{"step", state_.steps},
                {"seconds", seconds()},
                {"learning_rate", learning_rate},
                {"train_loss", state_.row_loss.value()}};
    if (gradient_norm) row["gradient_norm"] = *gradient_norm;
    log_row(row);
    state_.row_loss = {};
  }
  stopped_ = wanted.stop;
  const bool due = wanted.save || state_.steps - tried_step_ >= save_every_.steps;
  if (step_of_epoch() == 0) return;  // at the end of an epoch, the report comes first
  if (due) save();
  keep_if_due();
}

bool Run::judge(const Metrics& metrics, const ValidationMetric& metric) {
  if (!keeps_best_ && patience_ == 0) return false;
  return state_.best.next(metric.of(metrics), state_.steps, metric);
}

std::string Run::count(Index steps) const {
  const Index unit = steps_.in_epochs ? steps_.per_epoch : 1;
  return fmt::format("{} {}/{}", steps_.in_epochs ? "epoch" : "step", steps / unit,
                     steps_.total / unit);
}

void Run::report(const Metrics& metrics) {
  Metrics row{{"step", state_.steps}, {"seconds", seconds()}};
  for (const auto& [name, value] : row)
    expect<ArgumentError>(!metrics.contains(name),
                          "log: a metric has the name of the column {}; choose another", name);
  row.update(metrics);
  log_row(row);
  std::string text =
      fmt::format("{}: training loss {:.4f}", count(state_.steps), state_.epoch_loss.value());
  for (const auto& [name, value] : metrics)
    text += fmt::format(", {} {:.4f}", in_words(name), metrics.number(name));
  progress_.line(fmt::format("{}, {:.1f} s", text, seconds()));
  save();
  keep_if_due();
}

Metrics Run::tell_best(const ValidationMetric& metric) {
  const auto& [value, step, failed] = state_.best;
  const std::string words = in_words(metric.name);
  if (out_of_patience())
    progress_.line(fmt::format("stopped: {} evaluations without a better {}", failed, words));
  if (!value) return {};
  progress_.line(fmt::format("best {}: {:.4f}, after {}{}", words, *value, count(step),
                             keeps_best_ ? "; its weights are kept" : ""));
  return {{"best_step", step}, {"best_" + metric.name, *value}};
}

void overfit(Run& run, const std::function<double()>& step) {
  constexpr double learnt = 0.01;
  double loss = INFINITY;
  while (!run.over() && loss >= learnt) loss = step();
  expect<Error>(loss < learnt || run.interrupted(),
                "--overfit-batch: the loss is still {:.4f} after {} steps; try more steps or "
                "another --lr, or look for a mistake in the model",
                loss, run.steps_done());
  write_result(fmt::format("one batch: loss {:.4f} after {} steps\n", loss, run.steps_done()));
}

double Run::steps_per_second() const {
  return static_cast<double>(state_.steps - first_step_) / progress_.seconds();
}

void Run::finish(const Metrics& results) {
  Metrics summary{{"steps", state_.steps},
                  {"seconds", seconds()},
                  {"steps_per_second", steps_per_second()},
                  {"train_loss", state_.epoch_loss.value()},
                  {"peak_rss_mb", peak_memory()}};
  summary.update(results);
  Writes writes;
  if (state_.steps > first_step_) writes.emplace_back([&] { log_.summary(summary); });
  write_rest(writes);
}

void Run::stop() {
  progress_.line(fmt::format("interrupted after {} of {} steps", state_.steps, steps_.total));
  write_rest({});
}

void Run::write_rest(Writes writes) {
  if (tried_step_ != state_.steps) before_saves_();
  if (!log_failure_.empty()) writes.emplace_back([this] { log_.write_rows(); });
  if (saved_step_ != state_.steps) writes.insert(writes.end(), saves_.begin(), saves_.end());
  write_all(writes);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
