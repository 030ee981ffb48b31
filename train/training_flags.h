#pragma once

#include <functional>
#include <string>

#include "tapegrad/train/flags.h"
#include "tapegrad/train/optimizer_flags.h"
#include "tapegrad/train/run.h"

namespace tapegrad::TAPEGRAD_SCALAR {

class Trainer;

/// The flags of every program with a `Trainer`: flags of the optimizer and flags of the run, such
/// as --log-dir, --save and --resume. A program derives from it, enters its own flags, and calls
/// `optimizer.add_to(*this)` and `run_flags.add_to(*this)` where --help is to show these.
/// Example: `TrainerFlags own("char_rnn", "Writes."); own.optimizer.add_to(own)`
struct TrainerFlags : Flags {
  using Flags::Flags;
  TrainerFlags(const TrainerFlags&) = delete;  // the flags refer to it
  TrainerFlags& operator=(const TrainerFlags&) = delete;

  using Flags::run;
  /// Calls `body` with a trainer, after --resume has set the flags of its checkpoint: data and net
  /// depend on them. Exits as `Flags::run` does, also for flags that conflict with each other or
  /// with the checkpoint.
  int run(int argc, char** argv, const std::function<int(Trainer& trainer)>& body);

  OptimizerFlags optimizer;
  RunFlags run_flags;
};

/// The default flags of a run.
/// Example: `TrainingFlags own("quadrants", "Learns signs.", TrainingDefaults{.epochs = 3})`
struct TrainingDefaults {
  Index epochs = 10;
  Index batch_size = 32;
  OptimizerFlags optimizer = {};
  bool keep_best = false;
};

/// The flags of a program that trains in epochs: --epochs, --batch-size, --seed, then the flags of
/// `TrainerFlags`. A program adds its own flags, such as layer sizes, before it calls `run`.
/// Example: `TrainingFlags own("quadrants", "Learns signs.", {.epochs = 3}); own.seed`
struct TrainingFlags : TrainerFlags {
  TrainingFlags(const std::string& program, const std::string& description,
                const TrainingDefaults& defaults = {});

  Index epochs, batch_size;
  std::uint64_t seed = 1;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
