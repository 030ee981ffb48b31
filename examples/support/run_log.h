#pragma once

#include <string>
#include <vector>

#include "support/flags.h"
#include "tapegrad/core/real.h"

namespace tapegrad::support {

/// The most memory that this process has had resident, in MiB.
double peak_memory();

/// What a run leaves in a directory: config.json, metrics.csv and metrics.jsonl with one row for
/// each report, curves.svg with the losses and accuracies among them, and summary.json.
class RunLog {
 public:
  /// Without a directory nothing is written. `steps_done` by the run that this one resumes: rows up
  /// to there are kept. Throws DataError when the directory cannot be made.
  RunLog(std::string directory, const Json& configuration, Index steps_done);

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
};

}  // namespace tapegrad::support
