#pragma once

#include <string>

#include "tapegrad/train/flags.h"
#include "tapegrad/train/optimizer_flags.h"
#include "tapegrad/train/run.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The default flags of a run.
/// Example: `TrainingFlags own("quadrants", "Learns signs.", TrainingDefaults{.epochs = 3})`
struct TrainingDefaults {
  Index epochs = 10;
  Index batch_size = 32;
  OptimizerFlags optimizer = {};
  bool keep_best = false;
};

/// The flags of a program that trains in epochs: --epochs, --batch-size, --seed, those of the
/// optimizer and those of every run, such as --log-dir, --save and --resume. A program adds its own
/// flags, such as layer sizes, before it calls `run`.
/// Example: `TrainingFlags own("quadrants", "Learns signs.", {.epochs = 3}); own.seed`
struct TrainingFlags : Flags {
  TrainingFlags(const std::string& program, const std::string& description,
                const TrainingDefaults& defaults = {});
  TrainingFlags(const TrainingFlags&) = delete;  // the flags refer to it
  TrainingFlags& operator=(const TrainingFlags&) = delete;

  Index epochs, batch_size;
  std::uint64_t seed = 1;
  OptimizerFlags optimizer;
  RunFlags run_flags;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
