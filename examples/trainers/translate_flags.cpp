#include "trainers/translate_flags.h"

#include <fmt/format.h>

#include "support/data_files.h"
#include "tapegrad/train/norm_flag.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

void add_net(Flags& flags, TranslateFlags& f) {
  add_norm_flag(flags, f.norm, "Normalization");
  flags.training("--norm-placement", f.placement, "Norms before sub-layers, or after residuals")
      ->check(CLI::IsMember({"pre", "post"}));
  flags.training("--layers", f.layers, "Layers of the encoder, and of the decoder")
      ->check(between(1, 1000));
  flags.training("--heads", f.heads, "Attention heads")->check(between(1, 1 << 10));
  flags.training("--channels", f.channels, "Channels of the residual stream")
      ->check(between(4, 1 << 16));
  flags.training("--hidden", f.hidden, "Channels within the feed-forward sub-layers")
      ->check(between(1, 1 << 16));
  const CLI::Validator share = between(0.0, 0.99);
  flags.training("--dropout", f.dropout, "Share of values to drop in training")->check(share);
  flags.training("--attention-dropout", f.attention_dropout, "The same of attention weights")
      ->check(share);
  flags.training("--activation-dropout", f.activation_dropout, "The same after activations")
      ->check(share);
}

void add_translating(Flags& flags, TranslateFlags& f) {
  flags
      .setting("--beam", f.beam,
               "Width of the beam of translations, except of those after an epoch")
      ->check(between(1, 1000));
  flags
      .input("--translate", f.translate,
             "Translate the lines of this file, or - for those that you type, by the net of "
             "--resume, without training")
      ->needs("--resume")
      ->excludes("--data", "--save", "--log-dir", "--dry-run");
  flags.output("--attention", f.attention,
               "SVG picture of where the net looks in the first sentences that it translates",
               {.begins = "<svg"});
}

}  // namespace

void TranslateFlags::add_to(Flags& flags) {
  flags.input("--data", data,
              data_help("train, val and test*, each .de and .en", "multi30k/") +
                  "; without it, draws a pair of languages");
  flags.training("--from", from, "Ending of the files of the source language");
  flags.training("--to", to, "Ending of the files of the target language");
  flags.training("--vocabulary", vocabulary, "Subwords of both languages together, at most")
      ->check(between(8, 1 << 20));
  add_net(flags, *this);
  flags
      .training("--batch-tokens", batch_tokens,
                "Subwords per step in each language, including padding")
      ->check(between(1, 1 << 24));
  flags.length("--epochs", epochs, "Passes over the training pairs")->check(between(1, 1 << 20));
  flags
      .training("--label-smoothing", label_smoothing,
                "Share of each target to spread over all subwords")
      ->check(between(0.0, 0.99));
  flags.training("--seed", seed, "Seed of weights, order, dropout and drawn languages");
  optimizer.add_to(flags);
  run.add_to(flags);
  add_translating(flags, *this);
}

void TranslateFlags::check(const Flags& given) const {
  if (data.empty() && (given.given("--from") || given.given("--to")))
    throw CLI::ValidationError("--from", "and --to name files of --data; leave them out");
  if (channels % heads != 0 || channels % 2 != 0)
    throw CLI::ValidationError(
        "--heads", fmt::format("{} do not divide {} channels, or the number of channels is odd",
                               heads, channels));
}

TransformerModelOptions TranslateFlags::model() const {
  return {.stack = {.layers = layers,
                    .heads = heads,
                    .channels = channels,
                    .feed_forward = hidden,
                    .activation = Activation::relu,
                    .norm = NormSpec(norm),
                    .placement = placement == "pre" ? NormPlacement::pre : NormPlacement::post,
                    .dropout = dropout,
                    .attention_dropout = attention_dropout,
                    .activation_dropout = activation_dropout},
          .positions = Positions::sinusoidal};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
