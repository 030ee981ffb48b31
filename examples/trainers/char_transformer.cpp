// Trains a Transformer to write text, character by character. The defaults are nanoGPT's small
// configuration for Tiny Shakespeare.

#include "tapegrad/tapegrad.h"
#include "trainers/char_training.h"

using namespace tapegrad;
using namespace tapegrad::support;

namespace {

struct CharTransformerFlags : CharFlags {
  std::string model = "transformer";
  std::string positions;  // "": learned, of a Transformer-XL relative
  std::string feed_forward = "gelu";
  std::string placement = "pre";
  Index heads = 4;
  Index channels = 128;
  Index memory = 64;
  bool bias = false;
  bool recompute = false;

  CharTransformerFlags()
      : CharFlags("char_transformer",
                  "Trains a Transformer to write text, character by character.") {
    norm = "layer";
    layers = 4;
    batch_size = 12;
    optimizer = {.optimizer = "adamw",
                 .learning_rate = 1e-3,
                 .final_rate = 1e-4,
                 .warmup = 100,
                 .beta2 = 0.99,
                 .weight_decay = 0.1,
                 .clip_norm = 1};
    training("--model", model, "Read each block of the text separately, or with a memory")
        .check(one_of({"transformer", "transformer_xl"}));
    training("--positions", positions,
             "Encoding of positions (default: learned; relative for "
             "transformer_xl)")
        .check(one_of({"", "learned", "sinusoidal", "rotary", "alibi", "relative"}));
    training("--feed-forward", feed_forward, "Activation of the feed-forward sub-layers")
        .check(one_of({"relu", "gelu", "swiglu"}));
    training("--norm-placement", placement, "Norms before sub-layers, or after residuals")
        .check(one_of({"pre", "post"}));
    training("--heads", heads, "Attention heads").check(between(1, 1 << 10));
    training("--channels", channels, "Channels of the residual stream").check(between(1, 1 << 16));
    training("--memory", memory, "Characters that a transformer_xl remembers")
        .check(between(0, 1 << 16));
    training("--bias", bias, "Give linear layers and norms a bias");
    setting("--recompute", recompute,
            "Compute each block again in the backward pass instead of keeping it: less memory, the "
            "same results");
    add_shared();
  }

  /// Throws FlagError for flags that conflict.
  void check() const {
    const bool xl = model == "transformer_xl";
    if (xl ? positions != "" && positions != "relative" : positions == "relative")
      throw FlagError("--positions",
                      fmt::format("{} does not go with --model {}", positions, model));
    if (!xl && given("--memory"))
      throw FlagError("--memory", "has an effect only with --model transformer_xl");
    if (channels % heads != 0)
      throw FlagError("--heads", fmt::format("{} do not divide {} channels", heads, channels));
  }

  TransformerOptions stack() const {
    return {.layers = layers,
            .heads = heads,
            .channels = channels,
            .activation = feed_forward == "relu"   ? Activation::relu
                          : feed_forward == "gelu" ? Activation::gelu
                                                   : Activation::swiglu,
            .norm = NormSpec(norm),
            .placement = placement == "pre" ? NormPlacement::pre : NormPlacement::post,
            .bias = bias,
            .dropout = dropout,
            .recompute = recompute};
  }
  Positions positions_used() const {
    if (positions == "sinusoidal") return Positions::sinusoidal;
    if (positions == "rotary") return Positions::rotary;
    if (positions == "alibi") return Positions::alibi;
    return Positions::learned;
  }
};

CharModel make_transformer(const CharTransformerFlags& flags, Index vocabulary, Random& random) {
  const TransformerLm net(
      vocabulary, random,
      {.stack = flags.stack(), .positions = flags.positions_used(), .length = flags.seq_len});
  const auto logits = [net](const Indices& ids, Memory* memory, Mode mode) {
    if (memory == nullptr) return net(ids, mode);
    std::vector<AttentionCache> caches;
    for (std::size_t i = 0; i < memory->size(); i += 2)
      caches.push_back({(*memory)[i], (*memory)[i + 1]});
    const Tensor values = net(ids, mode, &caches);
    memory->clear();
    for (const AttentionCache& cache : caches) {
      memory->push_back(cache.keys);
      memory->push_back(cache.values);
    }
    return values;
  };
  return {fields(net), logits, nullptr, flags.seq_len};
}

CharModel make_transformer_xl(const CharTransformerFlags& flags, Index vocabulary, Random& random) {
  const TransformerXl net(vocabulary, random, {.stack = flags.stack(), .memory = flags.memory});
  const auto logits = [net](const Indices& ids, Memory* memory, Mode mode) {
    const auto [values, kept] = net(ids, memory == nullptr ? Memory() : *memory, mode);
    if (memory != nullptr) *memory = kept;
    return values;
  };
  const auto carried = [shape = Shape{flags.batch_size, 0, flags.channels}, &flags](Index blocks) {
    const Index length = std::min(flags.memory, blocks * flags.seq_len);
    return Memory(length > 0 ? flags.layers : 0, zeros(shape.with(1, length)));
  };
  return {fields(net), logits, carried};
}

}  // namespace

int main(int argc, char** argv) {
  CharTransformerFlags flags;
  return flags.run(argc, argv, [&](Trainer& trainer) {
    return run_char_model(flags, flags.model, trainer, [&](Index vocabulary, Random& random) {
      flags.check();
      return flags.model == "transformer" ? make_transformer(flags, vocabulary, random)
                                          : make_transformer_xl(flags, vocabulary, random);
    });
  });
}
