#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tapegrad/train/flags.h"
#include "tapegrad/train/json.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// Where a training stood after a step.
struct CurvePoint {
  Index step;
  double training;                           ///< loss
  std::optional<double> validation = {};     ///< where it was measured
  bool operator==(const CurvePoint&) const;  ///< NaN equals NaN
};

/// What one training found.
struct Outcome {
  std::vector<CurvePoint> curve = {};
  std::map<std::string, double> values = {};  ///< at its end, by name
  std::vector<double> items = {};             ///< of the test, where a verdict needs them
  double seconds = 0;

  /// Whether a value is not finite, or the training loss ends above its start: in the mean of the
  /// last tenth of the curve and of the first, as single batches differ.
  bool diverged() const;
};

/// A finished training, as its file says it. What is not finite is null there, and NaN here.
struct Record {
  Json configuration;   ///< what the training depends on besides data and seed: values and lists
  std::string data;     ///< a digest
  std::string version;  ///< of tapegrad
  Outcome outcome;
};

/// The text of a record's file.
std::string to_string(const Record& record);
/// Throws DataError, naming the file and the part that is damaged.
Record read_record(const std::string& path);

/// The flags of a program on which its trainings depend, for a record.
Json training_configuration(const Flags& flags);

/// The finished trainings of an experiment, in files RUNS/EXPERIMENT/SYSTEM/seed_K.json, so that
/// none is repeated. Without --runs nothing is kept.
class Ledger {
 public:
  /// --runs. Before the command line is read.
  void add_to(Flags& flags);
  /// data: a digest of what all trainings of this experiment see
  void begin(const std::string& experiment, const std::string& data);

  /// What the file of this training says; without one, what `train` returns, after it has been
  /// written. Throws Error for a system whose name is no name of a folder, and DataError for a file
  /// that cannot be written, is damaged, or has another configuration or other data.
  Outcome outcome(const std::string& system, std::uint64_t seed, const Json& configuration,
                  const std::function<Outcome()>& train) const;

 private:
  std::string runs_, experiment_, data_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
