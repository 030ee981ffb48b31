#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tapegrad/core/real.h"
#include "tapegrad/train/event_file.h"
#include "tapegrad/train/file_lock.h"
#include "tapegrad/train/flags.h"
#include "tapegrad/train/json_fwd.h"
#include "tapegrad/train/metrics.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The peak resident memory of this process, in MiB.
/// Example: `fmt::print("{:.0f} MiB\n", peak_memory())`
double peak_memory();

/// The configuration of a run, its rows, and its results.
constexpr const char* config_file = "config.json";
constexpr const char* rows_file = "metrics.jsonl";
constexpr const char* summary_file = "summary.json";
/// The files of --probe, in the same directory.
constexpr const char* probe_norms_file = "probe_norms.csv";
constexpr const char* probe_weights_file = "probe_weights.csv";
/// What --rewind writes of a step, besides those: its tape as a page, its values and gradients, and
/// its batch.
constexpr const char* tape_file = "tape.html";
constexpr const char* trace_file = "trace.safetensors";
constexpr const char* batch_file = "batch.safetensors";
/// What every page of a tape contains.
constexpr const char* tape_mark = "<title>A tape, step by step</title>";

/// All files that a run may leave in a directory, and the event files that runs have left there.
/// Example: `for (const std::string& file : log_files("log")) fmt::print("{}\n", file)`
std::vector<std::string> log_files(const std::string& directory);

/// All files that runs may have left in the directories of steps that there are in a directory.
/// Example: `for (const std::string& file : step_files("log")) fmt::print("{}\n", file)`
std::vector<std::string> step_files(const std::string& directory);
/// The files of one step, whose directory need not exist.
/// Example: `files_of_step(step_directory("log", 1200)).size()`
std::vector<std::string> files_of_step(const std::string& step_directory);
/// Throws DataError unless a run may write to the directory of a step: for a link, and for a file
/// with the name of what runs write there that is a link or that no run has written.
/// Example: `expect_own_step(step_directory("log", 1200))`
void expect_own_step(const std::string& step_directory);

/// The rows of the run in a directory, up to a step; none if it has no file of them. Throws
/// DataError, naming file and line, for rows that no run has written. Drops a truncated last line
/// with a warning. Numbers that were not finite are nan.
/// Example: `for (const Metrics& row : logged_rows("log")) fmt::print("{}\n", row.number("step"))`
std::vector<Metrics> logged_rows(const std::string& directory,
                                 Index last_step = std::numeric_limits<Index>::max());

/// The directory of what is kept of a step, and the checkpoint of --keep-every in it: the state
/// after that step.
/// Example: `step_directory("log", 1200)`
std::string step_directory(const std::string& directory, Index step);
/// Example: `kept_checkpoint("log", 1200)`
std::string kept_checkpoint(const std::string& directory, Index step);
/// The steps of which a directory has a checkpoint, ascending.
/// Example: `for (const Index step : kept_steps("log")) fmt::print("{}\n", step)`
std::vector<Index> kept_steps(const std::string& directory);

/// The directory for the run with one of several seeds.
/// Example: `seed_directory("log", 3)`
std::string seed_directory(const std::string& directory, std::uint64_t seed);

/// The files of a run in a directory: config.json, metrics.csv and metrics.jsonl with one row for
/// each report, curves.svg with their losses and accuracies, and summary.json; if wanted, also an
/// event file for TensorBoard with the rows.
/// Example: `RunLog log("run", {{"epochs", 2}}, 0); log.row({{"step", 1}, {"train_loss", 0.7}})`
class RunLog {
 public:
  /// Writes nothing if `directory` is empty. Keeps the rows of the resumed run up to `steps_done`.
  /// Creates the directory, and changes nothing else before `start`. Throws FlagError while another
  /// process has a log there; DataError if the directory cannot be created, if one of its files
  /// cannot be written or is not regular, and for rows that `logged_rows` refuses.
  ///   tensorboard: whether to write an event file
  ///   original: the log directory of the run that this one forks; "": none. Its rows up to
  ///     `steps_done` come first, and fork.svg shows its curves beside this run's.
  RunLog(std::string directory, const Json& configuration, Index steps_done,
         bool tensorboard = false, const std::string& original = "");

  /// Writes the configuration, and removes files of an earlier run that this one does not continue.
  /// Later calls do nothing; the first write to the log also starts it. Throws DataError.
  void start();

  /// The time spent training before this run's rows, as far as the log shows.
  double seconds_before() const { return seconds_before_; }

  /// Adds a row. It has a whole "step", and "seconds" since the beginning of the run; columns
  /// ending in "_loss" and "_accuracy" become curves. Throws DataError if it cannot be written; the
  /// next call then writes it too.
  void row(const Metrics& metrics);
  /// Writes all rows again. Throws DataError.
  void write_rows();
  /// Throws DataError.
  void summary(const Json& results);

 private:
  std::string path(const char* file) const { return directory_ + "/" + file; }
  // The last step of which the files stay.
  std::uint64_t steps_kept() const {
    return resumes_ ? static_cast<std::uint64_t>(steps_before_) : 0;
  }
  // Adds the rows that the event file does not have yet.
  void write_events();

  std::string directory_;
  std::optional<FileLock> lock_;
  std::string configuration_;
  bool resumes_;
  Index steps_before_;
  bool started_ = false;
  std::vector<Metrics> rows_;
  std::vector<Metrics> original_rows_;  // of the run that this one forks
  double seconds_before_ = 0;
  double began_ = 0;  // when the run would have begun, had it never stopped; since 1970
  std::optional<EventFile> events_;
  std::size_t event_rows_ = 0;  // in the event file
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
