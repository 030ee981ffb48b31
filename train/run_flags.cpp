#include "tapegrad/train/run_flags.h"

#include <cmath>

#include "tapegrad/core/printable.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// What a run replaces or removes in its log directory. It may resume from a state that it has kept
// there: it goes on after that step.
std::vector<std::string> files_in_log(const std::string& directory, const RunFlags& flags) {
  if (flags.rewind > 0) return files_of_step(step_directory(directory, flags.rewind));
  std::vector<std::string> files = log_files(directory);
  for (const std::string& file : step_files(directory))
    if (flags.resume.empty() || !same_file(file, flags.resume)) files.push_back(file);
  return files;
}

}  // namespace

std::optional<SaveInterval> parse_save_interval(std::string text) {
  SaveInterval interval;
  if (text.ends_with('m')) {
    text.pop_back();
    const std::optional<double> minutes = real_number(text);
    interval.seconds = 60 * minutes.value_or(0);
    if (!(interval.seconds > 0) || !std::isfinite(interval.seconds)) return {};
  } else {
    interval.steps = whole_number<Index>(text).value_or(0);
    if (interval.steps < 1) return {};
  }
  return interval;
}

void RunFlags::add_to(Flags& flags) {
  flags
      .training(
          "--shards", shards,
          "Parts of each batch, which the processes share; results depend on the number of parts, "
          "not of processes (default: one for each process)")
      .check(between(0, 1 << 16));
  flags
      .training("--precision", precision,
                "Matrix products in float, or in bf16, which rounds their operands to bfloat16: "
                "faster on processors with AVX512_BF16 or AMX; weights and sums stay in float")
      .check(one_of({"float", "bf16"}));
  flags
      .training("--patience", patience,
                "Stop after this many validations without improvement; 0: never")
      .check(between(0, 1 << 20));
  flags.training("--keep-best", keep_best,
                 keep_best ? "Ends with the weights of the best validation, also in --save; "
                             "--keep-best=false: with the last"
                           : "End with the weights of the best validation, also in --save");
  flags.setting("--threads", threads, "Threads to use; results do not depend on it")
      .check(between(1, 1024));
  flags.output("--log-dir", log_dir, "Directory for configuration, metrics, curves and summary",
               {.files = [this](const std::string& in) { return files_in_log(in, *this); }});
  flags
      .setting("--tensorboard", tensorboard,
               "Write the metrics to --log-dir as an event file for TensorBoard, too")
      .needs({"--log-dir"});
  flags.output("--save", save, "Checkpoint, written after each report and on Ctrl-C",
               {.continues = "--resume"});
  flags
      .setting("--save-every", save_every, "Interval of further saves: steps (500) or minutes (5m)")
      .needs({"--save"})
      .check([](const std::string& text) {
        return parse_save_interval(text)
                   ? ""
                   : "must be a number of steps, or of minutes as in 5m: " + beginning(text);
      });
  flags.input("--resume", resume, "Checkpoint to resume from");
  flags
      .setting("--keep-every", keep_every,
               "Steps between states that are kept in --log-dir, for --rewind and --fork")
      .needs({"--log-dir"})
      .check(positive());
  flags
      .setting("--rewind", rewind,
               "Compute this step of the run in --log-dir again, with its flags, and write its "
               "tape, batch, values, gradients and, with --probe, records to step_N there; report "
               "whether the losses on the way equal the losses in the log")
      .needs({"--log-dir"})
      .check(positive())
      .excludes({"--save", "--resume", "--keep-every", "--tensorboard"});
  const Flag of = flags.input("--original", original, "Log directory of the run to --fork");
  flags
      .setting("--fork", fork,
               "Continue the run in --original after this step, with the flags given here in "
               "place of its own, and log to --log-dir")
      .needs({"--log-dir", "--original"})
      .check(positive())
      .excludes({"--rewind", "--resume"});
  of.needs({"--fork"});
  flags.setting("--quiet", quiet, "No progress on standard error");
  flags.setting("--dry-run", dry_run, "Print what would be trained, and exit")
      .excludes({"--rewind", "--fork"});
  flags
      .setting("--overfit-batch", overfit_batch,
               "Train on a single batch until it is learned: finds mistakes in a model")
      .excludes({"--save", "--resume", "--patience", "--keep-best", "--rewind", "--fork"});
  flags.setting("--check-nan", check_nan,
                "Stop at the operation that produces the first NaN or infinity (slower)");
  flags
      .setting(
          "--probe", probe,
          "Record in --log-dir how normalizations change gradients, and how weights change, in "
          "each step (slower)")
      .needs({"--log-dir"});
  flags.setting("--profile", profile, "Print the time of a step by operation at the end");
  flags.checks([&flags] { check_file_flags(flags); });
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
