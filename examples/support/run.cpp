#include "support/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "support/output.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/parallel.h"

namespace tapegrad::support {
namespace {

// Rows of the log with the training loss, over a whole run.
constexpr Index reports = 200;

std::optional<SaveInterval> parse_interval(std::string text) {
  SaveInterval interval;
  if (text.ends_with('m')) {
    text.pop_back();
    double minutes = 0;
    if (!CLI::detail::lexical_cast(text, minutes) || !(minutes > 0)) return {};
    interval.seconds = 60 * minutes;
  } else if (!CLI::detail::lexical_cast(text, interval.steps) || interval.steps < 1) {
    return {};
  }
  return interval;
}

// Calls each, also after another has failed. Throws DataError with all that has gone wrong.
void write_all(const std::vector<std::function<void()>>& writes) {
  std::string failures;
  for (const auto& write : writes) try {
      write();
    } catch (const std::exception& error) {
      failures += (failures.empty() ? "" : "; ") + std::string(error.what());
    }
  expect<DataError>(failures.empty(), "{}", failures);
}

}  // namespace

void RunFlags::add_to(Flags& flags) {
  threads = tapegrad::threads();
  flags.setting("--threads", threads, "Threads to use; results do not depend on it")
      ->check(between(1, 1024));
  flags.setting("--log-dir", log_dir, "Directory for configuration, metrics, curves and summary")
      ->check(not_empty());
  flags.setting("--save", save, "Checkpoint, written after each report and on Ctrl-C")
      ->check(not_empty());
  flags
      .setting("--save-every", save_every,
               "Write it also after so many steps (500), or minutes (5m)")
      ->needs("--save")
      ->check([](const std::string& text) {
        return parse_interval(text) ? ""
                                    : "must be a number of steps or, as in 5m, minutes: " + text;
      });
  flags.setting("--resume", resume, "Checkpoint to go on from")->check(not_empty());
  flags.setting("--quiet", quiet, "No progress on standard error");
  flags.setting("--dry-run", dry_run, "Show what would be trained, and stop");
  flags
      .setting("--overfit-batch", overfit_batch,
               "Train on one batch only until it is learnt: finds mistakes in a model")
      ->excludes("--save", "--resume");
  flags.setting("--check-nan", check_nan,
                "Stop at the operation that makes the first NaN or infinity (slower)");
  flags
      .setting("--probe", probe,
               "Write to --log-dir what each step does to gradients at normalizations, and to "
               "weights (slower)")
      ->needs("--log-dir");
  flags.setting("--profile", profile,
                "At the end, print where the time of a step went, operation by operation");
}

Run::Run(const RunFlags& flags, const Json& configuration, const RunSteps& steps)
    : steps_(steps),
      first_step_(steps.done),
      log_(flags.log_dir, configuration, steps.done),
      save_every_(parse_interval(flags.save_every).value_or(SaveInterval())),
      saved_step_(steps.done),
      tried_step_(steps.done),
      progress_(steps.total, steps.done, flags.quiet) {}

void Run::saves(std::function<void()> write) {
  write();
  saves_.push_back(std::move(write));
}

void Run::log(const Json& row) {
  try {
    log_.row(row);
    logged_ = true;
  } catch (const std::exception& error) {
    logged_ = false;
    progress_.warning(fmt::format("cannot log: {}; goes on, and tries again later", error.what()));
  }
}

void Run::save() {
  tried_step_ = steps_.done;
  tried_seconds_ = progress_.seconds();
  try {
    write_all(saves_);
    saved_step_ = steps_.done;
  } catch (const std::exception& error) {
    progress_.warning(fmt::format("cannot save: {}; goes on, and tries again later", error.what()));
  }
}

void Run::step(double loss, double rate) {
  expect<Error>(
      std::isfinite(loss),
      "step {}: the loss is {}; lower --lr, limit gradients with --clip-norm, or find the "
      "operation with --check-nan",
      steps_.done + 1, loss);
  if (steps_.done % steps_.per_epoch == 0) steps_.epoch_loss = {};
  ++steps_.done;
  steps_.epoch_loss.add(loss);
  reported_loss_.add(loss);
  progress_.step(steps_.done, loss);
  if (steps_.done % std::max<Index>(1, steps_.total / reports) == 0) {
    log({{"step", steps_.done},
         {"seconds", progress_.seconds()},
         {"learning_rate", rate},
         {"train_loss", reported_loss_.value()}});
    reported_loss_ = {};
  }
  const bool due = steps_.done - tried_step_ >= save_every_.steps ||
                   progress_.seconds() - tried_seconds_ >= save_every_.seconds;
  if (due && step_of_epoch() != 0) save();  // at the end of an epoch, the report comes first
}

void Run::report(const Json& metrics) {
  Json row{{"step", steps_.done}, {"seconds", progress_.seconds()}};
  row.update(metrics);
  log(row);
  const Index unit = steps_.in_epochs ? steps_.per_epoch : 1;
  std::string text =
      fmt::format("{} {}/{}: training loss {:.4f}", steps_.in_epochs ? "epoch" : "step",
                  steps_.done / unit, steps_.total / unit, epoch_loss().value());
  for (const auto& [name, value] : metrics.items()) {
    std::string words = name;
    std::replace(words.begin(), words.end(), '_', ' ');
    text += fmt::format(", {} {:.4f}", words, value.get<double>());
  }
  progress_.line(fmt::format("{}, {:.1f} s", text, progress_.seconds()));
  save();
}

void overfit(Run& run, const Optimizer& optimizer, const std::function<double()>& step) {
  constexpr double learnt = 0.01;
  double loss = INFINITY;
  while (!run.over() && loss >= learnt) {
    loss = step();
    run.step(loss, optimizer.rate());
  }
  expect<Error>(loss < learnt || run.interrupted(),
                "--overfit-batch: the loss is still {:.4f} after {} steps; try more of them or "
                "another --lr, or look for a mistake in the model",
                loss, run.steps_done());
  write_result(fmt::format("one batch: loss {:.4f} after {} steps\n", loss, run.steps_done()));
}

void Run::finish(const Json& results) {
  const double seconds = progress_.seconds();
  Json summary{{"steps", steps_.done},
               {"seconds", seconds},
               {"steps_per_second", static_cast<double>(steps_.done - first_step_) / seconds},
               {"train_loss", epoch_loss().value()},
               {"peak_rss_mb", peak_memory()}};
  summary.update(results);
  write_rest({[&] { log_.summary(summary); }});
}

void Run::stop() {
  progress_.line(fmt::format("interrupted after {} of {} steps", steps_.done, steps_.total));
  write_rest({});
}

void Run::write_rest(Writes writes) {
  if (!logged_) writes.emplace_back([this] { log_.write_rows(); });
  if (saved_step_ != steps_.done) writes.insert(writes.end(), saves_.begin(), saves_.end());
  write_all(writes);
}

}  // namespace tapegrad::support
