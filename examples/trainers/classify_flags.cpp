#include "trainers/classify_flags.h"

#include <fmt/format.h>

#include "support/data_files.h"
#include "tapegrad/train/norm_flag.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

void ClassifyFlags::add_to(Flags& flags) {
  flags.training("--task", task, "Task: agreement of verbs in drawn sentences, or a set of --data")
      ->check(CLI::IsMember({"agreement", "rt", "sst5", "trec"}));
  flags.input("--data", data,
              data_help("the task's set", "sentence-classification/, rt-polaritydata/ or sst5/"));
  add_norm_flag(flags, net.norm, "Normalization");
  flags.training("--norm-placement", net.placement, "Norms before sub-layers, or after residuals")
      ->check(CLI::IsMember({"pre", "post"}));
  flags.training("--layers", net.layers, "Layers")->check(between(1, 1000));
  flags.training("--heads", net.heads, "Attention heads")->check(between(1, 1 << 10));
  flags.training("--channels", net.channels, "Channels of the residual stream")
      ->check(between(4, 1 << 16));
  flags.training("--hidden", net.hidden, "Channels within the feed-forward sub-layers")
      ->check(between(1, 1 << 16));
  flags.training("--batch-tokens", batch_tokens, "Words per step, including padding")
      ->check(between(1, 1 << 24));
  flags.length("--epochs", epochs, "Passes over the training set")->check(between(1, 1 << 20));
  flags.training("--dropout", net.dropout, "Share of values to drop in training")
      ->check(between(0.0, 0.99));
  flags.training("--seed", seed, "Seed of weights, order, dropout and drawn sentences");
  flags.setting("--seeds", seeds, "Number of trainings, with seeds from --seed on")
      ->check(between(1, 1000));
  optimizer.add_to(flags);
  run.add_to(flags);
}

void ClassifyFlags::check() const {
  if (task == "agreement" && !data.empty())
    throw CLI::ValidationError("--data", "--task agreement draws its sentences itself");
  if (task != "agreement" && data.empty())
    throw CLI::ValidationError("--data", fmt::format("--task {} needs its directory", task));
  if (net.channels % net.heads != 0 || net.channels % 2 != 0)
    throw CLI::ValidationError(
        "--heads", fmt::format("{} do not divide {} channels, or the number of channels is odd",
                               net.heads, net.channels));
  if (seeds > 1 && (!run.save.empty() || !run.resume.empty() || run.overfit_batch))
    throw CLI::ValidationError(
        "--seeds", "several trainings cannot be combined with --save, --resume or --overfit-batch");
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
