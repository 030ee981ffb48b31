#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/packed_runs.h"
#include "tapegrad/train/file_lock.h"
#include "tapegrad/train/flags.h"
#include "tapegrad/train/json.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// The losses of a run after a step.
struct CurvePoint {
  Index step;
  double training;                           ///< loss
  std::optional<double> validation = {};     ///< if measured at this step
  bool operator==(const CurvePoint&) const;  ///< NaN equals NaN
};

/// What was measured at some steps of a run.
using RunTrace = std::vector<std::pair<Index, double>>;

/// The result of one run.
struct Outcome {
  std::vector<CurvePoint> curve = {};
  std::map<std::string, double> values = {};    ///< final values, by name
  std::vector<double> items = {};               ///< test items, if a verdict needs them
  std::map<std::string, RunTrace> traces = {};  ///< what else was measured, by name
  /// A run that chooses its learning rate has the validation errors by rate, and the test values by
  /// the seeds with which it was trained at the best one.
  std::map<double, double> tried = {};
  std::map<std::uint64_t, double> tested = {};
  double seconds = 0;
  std::string source = {};  ///< file, line and run, for messages; empty if it was not read

  /// Whether a value is not finite or the training loss ends above its start. Compares the means of
  /// the last and the first tenth of the curve, since single batches vary.
  bool diverged() const;

  /// Visits what a record keeps, each part with its name.
  template <class Self, class Visit>
  static void visit(Self& self, const Visit& visit) {
    visit("seconds", self.seconds);
    visit("values", self.values);
    visit("curve", self.curve);
    visit("items", self.items);
    visit("traces", self.traces);
    visit("tried", self.tried);
    visit("tested", self.tested);
  }
};

/// Throws DataError, naming the source of the outcome, unless it has what a claim needs of it.
///   lack: what it does not have, in words: "its curve has no points"
void expect_part(bool has, const Outcome& outcome, const std::string& lack);

/// What claims need of an outcome, which a record may lack. All throw the DataError of
/// `expect_part`.
double value_of(const Outcome& outcome, const std::string& name);
/// It has a point at least.
const RunTrace& trace_of(const Outcome& outcome, std::string_view name);
const CurvePoint& first_point(const Outcome& outcome);
const CurvePoint& last_point(const Outcome& outcome);

/// NaN without items.
double mean_of_items(const Outcome& outcome);

/// A finished run, as stored in the file of its study. Non-finite numbers are null there and NaN
/// here.
struct Record {
  Json configuration;   ///< all else the run depends on: values and lists
  std::string data;     ///< a digest
  std::string version;  ///< of tapegrad
  Outcome outcome;
  Json provenance = Json::object();  ///< texts: what built and ran it; older records have none
};

/// Finished runs by system and seed.
using Records = std::map<std::string, std::map<std::uint64_t, Record>>;

std::string to_string(const Record& record);
/// Reads what `to_string` has returned. Throws DataError, naming the source and the part that is
/// damaged: also a number whose square might overflow, and steps that do not increase. In records
/// of older versions, values are named by the rates that were tried, and a trace has seeds for
/// steps.
Record read_record(const std::string& text, const std::string& source);

/// Throws DataError, naming the record's source and the first part that differs, unless it was
/// trained with this configuration.
void expect_same_configuration(const Record& record, const Json& configuration);

/// An outcome as bytes for another process, non-finite numbers included.
std::string to_bytes(const Outcome& outcome);
/// The outcome in what `to_bytes` has returned.
Outcome from_bytes(const std::string& bytes);

/// The flags that affect a program's runs, for a record.
Json training_configuration(const Flags& flags);

/// Keeps the finished runs of an experiment, so that none is repeated: in RUNS/STUDY.jsonl.gz if
/// its name is STUDY or STUDY/TASK, with the runs EXPERIMENT/SYSTEM; see `PackedRuns`. Several
/// processes may share RUNS. Keeps nothing without --runs.
class Ledger {
 public:
  /// Adds --runs. Call before the command line is parsed.
  void add_to(Flags& flags);
  /// data: a digest of the data that all runs of this experiment see
  /// Throws DataError if there are runs of it in files of their own, as older versions wrote them.
  void begin(const std::string& experiment, const std::string& data);
  const std::string& data() const { return data_; }

  /// Whether this run has been kept. Throws what `RunFile::runs` throws.
  bool has(const std::string& system, std::uint64_t seed) const;

  /// The outcome of this run that has been kept, the last of several. If there is none, calls
  /// `train` and keeps what it returns; throws what `expect_named_commit` throws before. Throws
  /// Error if the system's name is empty or has a slash,
  /// and DataError for a file that cannot be written, and for a run that is damaged or has another
  /// configuration or other data.
  Outcome outcome(const std::string& system, std::uint64_t seed, const Json& configuration,
                  const std::function<Outcome()>& train) const;

  /// Takes a run on: while one process holds it, others are not given it. Needs --runs.
  /// Throws DataError if RUNS cannot be written.
  FileLock claim(const std::string& system, std::uint64_t seed) const;

  /// All runs of this experiment that have been kept, the last of several. Throws DataError for a
  /// run that is damaged or has other data; if `begin` named none, other data than the first run.
  Records records() const;

 private:
  RunKey key(const std::string& system, std::uint64_t seed) const;

  std::string runs_, experiment_, data_;
  mutable RunFile file_;  ///< of the study
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
