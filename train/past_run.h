#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tapegrad/train/json_fwd.h"
#include "tapegrad/train/metrics.h"
#include "tapegrad/train/run_flags.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// What the log of a run keeps as its configuration: the flags, the program, the instruction set
/// and the digests of its data, by name.
/// Example: `configuration_of(flags, {{"data", "0f3a"}})["program"]`
Json configuration_of(const Flags& flags, const std::map<std::string, std::string>& digests);

/// The run to which --rewind or --fork go back.
/// Example: `RunFlags own; if (auto past = PastRun::of(own, flags)) fmt::print("{}", own.log_dir)`
class PastRun {
 public:
  /// None without these flags. Flags and inputs that were not given take the values of that run,
  /// and so does --probe if it had it: the last bits of recurrent nets depend on that.
  /// Throws DataError if its log is missing, damaged or of another program, and if it has not kept
  /// a state to begin with; FlagError if a fork would log to the run that it forks.
  static std::optional<PastRun> of(RunFlags& run, Flags& flags);

  const std::string& directory() const { return directory_; }
  /// The state to begin with; empty: the start.
  const std::string& checkpoint() const { return checkpoint_; }
  bool probed() const { return text("probe") == "true"; }
  /// In words, what differs here from that run.
  std::vector<std::string> differences(const Flags& flags,
                                       const std::map<std::string, std::string>& digests) const;

 private:
  // An entry of the configuration as JSON; "null" if it has none of this name.
  std::string text(const std::string& name) const;

  std::string directory_, checkpoint_;
  std::map<std::string, std::string> configuration_;  // and the digests, each under its key
};

/// Compares rows that are computed again with the rows of a log.
/// Example: `Replay replay("log", 0, 9); replay.compare({{"step", 1}, {"train_loss", 0.7}})`
class Replay {
 public:
  /// With the rows after step `begin` up to step `end` in a directory. Throws DataError for rows
  /// that no run has written.
  Replay(const std::string& directory, Index begin, Index end);

  /// Compares the next row to the bit, all but its "seconds".
  void compare(const Metrics& row);
  /// How many rows were equal before the first difference.
  Index equal() const { return equal_; }
  /// Whether the log lacks all rows that were to be compared, or has none at all.
  bool lacks_rows() const { return is_empty_ || (rows_.empty() && was_due_); }
  /// In words, the first difference; empty without one.
  const std::string& difference() const { return difference_; }

 private:
  std::vector<Metrics> rows_;
  Index equal_ = 0, last_step_, end_;
  bool is_empty_, was_due_ = false;
  std::string difference_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
