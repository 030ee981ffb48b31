#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tapegrad/train/file_lock.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// What was run: "xu2019/rt/none@0.001", and with which seed.
struct RunKey {
  std::string run;
  std::uint64_t seed;
  auto operator<=>(const RunKey&) const = default;
};

/// A finished run.
struct PackedRun {
  std::string record;       ///< its text
  std::string source = {};  ///< file, line and run, for messages; empty until it has been read
};

/// The finished runs of a study: a line for each, in the order of run, seed and repeat,
///
///     {"run":"xu2019/rt/none@0.001","seed":1,"repeat":1,"digest":"8c1f...","record":{...}}
///
/// with the FNV-1a digest of the record's text. What is run again with another outcome is the next
/// repeat, and nothing is replaced.
class PackedRuns {
 public:
  PackedRuns() = default;
  /// Throws DataError, naming the file and the line, for a line that is no run, whose digest
  /// belongs to another record, or whose run stands in an earlier line.
  PackedRuns(std::string_view lines, const std::string& file);

  std::string lines() const;
  /// By their repeats, from 1; none of the maps is empty.
  const std::map<RunKey, std::map<std::uint64_t, PackedRun>>& repeats() const { return repeats_; }
  /// The last repeat, which counts; null if the run has not been done.
  const PackedRun* latest(const RunKey& key) const;
  /// Adds a repeat. Returns false, and adds none, if the latest has this text. Throws DataError for
  /// more than a million.
  bool add(const RunKey& key, const std::string& record);

 private:
  std::map<RunKey, std::map<std::uint64_t, PackedRun>> repeats_;
};

/// The file of a study's runs, gzipped. Several processes may read it and add to it at a time.
class RunFile {
 public:
  RunFile() = default;
  explicit RunFile(std::filesystem::path path) : path_(std::move(path)) {}
  const std::filesystem::path& path() const { return path_; }

  /// What the file has now; nothing if there is none. Reads it when it has changed. Throws
  /// DataError for a file that is damaged or unpacks to more than 256 MiB.
  const PackedRuns& runs();
  /// Adds a run to what the file has by then, and writes it atomically: the same bytes for the same
  /// runs. Waits for other processes that add to it. Throws what `runs` and `write_file` throw.
  void add(const RunKey& key, const std::string& record);
  /// Takes a run on: while one process holds it, others are not given it.
  FileLock claim(const RunKey& key) const;

 private:
  /// When the file was written, and its size.
  using State = std::pair<std::filesystem::file_time_type, std::uintmax_t>;

  std::filesystem::path path_;
  PackedRuns runs_;
  std::optional<State> read_;  ///< when `runs_` was read
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
