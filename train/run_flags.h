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

  /// That of --precision.
  Precision products() const { return precision == "bf16" ? Precision::bfloat16 : Precision::full; }

  void add_to(Flags& flags) {
    flags
        .training("--shards", shards,
                  "Parts of each batch, which several processes share out; results depend on it, "
                  "not on their number (default: one for each process)")
        ->check(between(0, 1 << 16));
    flags
        .training("--precision", precision,
                  "Matrix products in float, or in bf16, which rounds their operands to bfloat16: "
                  "faster on processors with AVX512_BF16 or AMX; weights and sums stay in float")
        ->check(CLI::IsMember({"float", "bf16"}));
    flags
        .training("--patience", patience,
                  "Stop after so many validations without a better one; 0: never")
        ->check(between(0, 1 << 20));
    flags.training("--keep-best", keep_best,
                   keep_best ? "Ends with the weights of the best validation, also in --save; "
                               "--keep-best=false: with the last"
                             : "End with the weights of the best validation, also in --save");
    flags.setting("--threads", threads, "Threads to use; results do not depend on it")
        ->check(between(1, 1024));
    flags.output("--log-dir", log_dir, "Directory for configuration, metrics, curves and summary",
                 {.files = log_files});
    flags
        .setting("--tensorboard", tensorboard,
                 "Write the metrics to --log-dir as an event file for TensorBoard, too")
        ->needs("--log-dir");
    flags.output("--save", save, "Checkpoint, written after each report and on Ctrl-C",
                 {.continues = "--resume"});
    flags
        .setting("--save-every", save_every,
                 "Interval of further saves: steps (500) or minutes (5m)")
        ->needs("--save")
        ->check([](const std::string& text) {
          return parse_save_interval(text)
                     ? ""
                     : "must be a number of steps, or of minutes as in 5m: " + text;
        });
    flags.input("--resume", resume, "Checkpoint to resume from");
    flags
        .setting("--keep-every", keep_every,
                 "Keep the state in --log-dir after every so many steps, for --rewind and --fork")
        ->needs("--log-dir")
        ->check(positive());
    flags
        .setting(
            "--rewind", rewind,
            "Compute this step of the run in --log-dir again, with its flags, and write its "
            "tape, batch, values, gradients and, with --probe, records to step_N there; reports "
            "whether the losses on the way equal those of the log")
        ->needs("--log-dir")
        ->check(positive())
        ->excludes("--save", "--resume", "--keep-every", "--tensorboard");
    CLI::Option* of = flags.input("--original", original, "Log directory of the run to --fork");
    of->needs(
        flags
            .setting("--fork", fork,
                     "Continue the run in --original after this step, with the flags given here in "
                     "place of its own, and log to --log-dir")
            ->needs("--log-dir", "--original")
            ->check(positive())
            ->excludes("--rewind", "--resume"));
    flags.setting("--quiet", quiet, "No progress on standard error");
    flags.setting("--dry-run", dry_run, "Print what would be trained, and exit")
        ->excludes("--rewind", "--fork");
    flags
        .setting("--overfit-batch", overfit_batch,
                 "Train on a single batch until it is learned: finds mistakes in a model")
        ->excludes("--save", "--resume", "--patience", "--keep-best", "--rewind", "--fork");
    flags.setting("--check-nan", check_nan,
                  "Stop at the operation that produces the first NaN or infinity (slower)");
    flags
        .setting(
            "--probe", probe,
            "Record in --log-dir how normalizations change gradients, and how weights change, in "
            "each step (slower)")
        ->needs("--log-dir");
    flags.setting("--profile", profile, "Print the time of a step by operation at the end");
    flags.checks([&flags] { check_file_flags(flags); });
  }
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
