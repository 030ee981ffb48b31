#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tapegrad/core/real.h"
#include "tapegrad/train/flags.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The most memory that this process has had resident, in MiB.
double peak_memory();

/// What a run was started with, and its rows.
constexpr const char* config_file = "config.json";
constexpr const char* rows_file = "metrics.jsonl";
/// The files of --probe, which lie beside those of the log.
constexpr const char* probe_norms_file = "probe_norms.csv";
constexpr const char* probe_weights_file = "probe_weights.csv";

/// All files that a run may leave in a directory.
std::vector<std::string> log_files(const std::string& directory);

/// Where the run with one of several seeds leaves its files.
std::string seed_directory(const std::string& directory, std::uint64_t seed);

/// What a run leaves in a directory: config.json, metrics.csv and metrics.jsonl with one row for
/// each report, curves.svg with the losses and accuracies among them, and summary.json.
class RunLog {
 public:
  /// Without a directory nothing is written. `steps_done` by the run that this one resumes: rows up
  /// to there are kept. Makes the directory, and changes nothing else before `start`. Throws
  /// DataError when it cannot be made, when one of its files cannot be written or is no regular
  /// one, and, naming file and line, for rows that no run has written; a last line that was cut
  /// short is dropped, which is told.
  RunLog(std::string directory, const Json& configuration, Index steps_done);

  /// Writes the configuration, and removes what an earlier run has left and this one does not go on
  /// with. Once done, it does nothing; whatever else writes to the log starts it. Throws DataError.
  void start();

  /// Of training before the rows that this run adds, as far as they tell.
  double seconds_before() const { return seconds_before_; }

  /// Adds a row. It has a "step"; columns ending in "_loss" and "_accuracy" become curves. Throws
  /// DataError when it cannot be written; the next row writes it as well.
  void row(const Json& metrics);
  /// Writes all rows again. Throws DataError.
  void write_rows();
  /// Throws DataError.
  void summary(const Json& results);

 private:
  void make_directory() const;
  std::string path(const char* file) const { return directory_ + "/" + file; }

  std::string directory_;
  std::string configuration_;
  bool resumes_;
  bool started_ = false;
  std::vector<Json> rows_;
  double seconds_before_ = 0;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
