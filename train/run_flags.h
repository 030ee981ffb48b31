#pragma once

#include <limits>
#include <optional>
#include <string>

#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/precision.h"
#include "tapegrad/train/file_flags.h"
#include "tapegrad/train/flags.h"
#include "tapegrad/train/run_log.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The interval of --save-every: a number of steps or a time.
/// Example: `const SaveInterval interval = parse_save_interval("500").value()`
struct SaveInterval {
  Index steps = std::numeric_limits<Index>::max();
  double seconds = std::numeric_limits<double>::infinity();
};

/// The interval in a text such as 500 or 5m; none in any other.
/// Example: `parse_save_interval("5m")->seconds`
std::optional<SaveInterval> parse_save_interval(std::string text);

/// The flags of every training program. Of them, only --shards, --precision, --patience and
/// --keep-best affect its result, and --fork, which begins with the state of another run.
/// Example: `RunFlags own; Flags program("copy", "Copies."); own.add_to(program)`
struct RunFlags {
  Index shards = 0;                            ///< 0: as many as there are processes
  Index patience = 0;                          ///< validations; 0: any number
  Index keep_every = 0, rewind = 0, fork = 0;  ///< steps; 0: not wanted
  bool keep_best = false;
  std::string precision = "float";
  int threads = tapegrad::threads();
  std::string log_dir = {}, original = {}, save = {}, save_every = {}, resume = {};
  bool quiet = false, dry_run = false, overfit_batch = false, check_nan = false, probe = false,
       profile = false, tensorboard = false;
  bool adds_probe = false;  ///< set with --rewind: --probe is given, and the run did not have it

  /// The precision of products that --precision names.
  Precision products() const { return precision == "bf16" ? Precision::bfloat16 : Precision::full; }

  void add_to(Flags& flags);
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
