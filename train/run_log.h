#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tapegrad/core/real.h"
#include "tapegrad/train/flags.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The most memory that this process has had resident, in MiB.
double peak_memory();

/// The files of --probe, which lie beside those of the log.
constexpr const char* probe_norms_file = "probe_norms.csv";
constexpr const char* probe_weights_file = "probe_weights.csv";

/// Where the run with one of several seeds leaves its files.
std::string seed_directory(const std::string& directory, std::uint64_t seed);

/// What a run leaves in a directory: config.json, metrics.csv and metrics.jsonl with one row for
/// each report, curves.svg with the losses and accuracies among them, and summary.json.
class RunLog {
 public:
  /// Without a directory nothing is written. `steps_done` by the run that this one resumes: rows up
  /// to there are kept. A new run removes what an earlier one has left. Throws DataError when the
  /// directory cannot be made, and, naming file and line, for rows that no run has written; a last
  /// line that was cut short is dropped, which is told.
  RunLog(std::string directory, const Json& configuration, Index steps_done);

  /// Of training before the rows that this run adds, as far as they tell.
  double seconds_before() const { return seconds_before_; }

  /// Adds a row. It has a "step"; columns ending in "_loss" and "_accuracy" become curves. Throws
  /// DataError when it cannot be written; the next row writes it as well.
  void row(const Json& metrics);
  /// Writes all rows again. Throws DataError.
  void write_rows() const;
  /// Throws DataError.
  void summary(const Json& results) const;

 private:
  std::string path(const char* file) const { return directory_ + "/" + file; }

  std::string directory_;
  std::vector<Json> rows_;
  double seconds_before_ = 0;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
