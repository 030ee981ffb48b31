#include "support/options.h"
#include "tapegrad/core/error.h"
#include "tapegrad/models/char_rnn.h"
#include "tapegrad/models/mlp.h"
#include "tapegrad/models/transformer.h"
#include "tapegrad/models/transformer_xl.h"
#include "tapegrad/nn/layers/conv.h"
#include "tapegrad/nn/layers/init.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

/// Makes a norm of four channels whose options `change` has filled field by field.
std::function<void()> norm_with(const std::function<void(NormSpec&)>& change,
                                const char* name = "layer") {
  return [=] {
    NormSpec spec(name);
    change(spec);
    Norm(spec, 4);
  };
}

}  // namespace

TEST_CASE("layers refuse sizes and options that make no sense", "[nn][options]") {
  check({
      {[] { Linear(1, 1, draws()); }, ""},
      {[] { Linear(0, 1, draws()); }, "Linear: in must be at least 1: 0"},
      {[] { Linear(1, -2, draws()); }, "Linear: out must be at least 1: -2"},
      {[] { Embedding(1, 1, draws()); }, ""},
      {[] { Embedding(0, 1, draws()); }, "Embedding: count must be at least 1: 0"},
      {[] { Embedding(1, 0, draws()); }, "Embedding: channels must be at least 1: 0"},
      {[] { Dropout(0); }, ""},
      {[] { Dropout(1); }, "Dropout: rate must lie in [0, 1): 1"},
      {[] { Dropout(-0.1); }, "Dropout: rate must lie in [0, 1): -0.1"},
      {[] { Dropout{no_number}; }, "Dropout: rate must lie in [0, 1): nan"},
      {[] { fan_in_uniform({2}, 0, draws()); }, "fan_in_uniform: fan_in must be at least 1: 0"},

      {[] { Conv2d(1, 1, 1, draws()); }, ""},
      {[] { Conv2d(0, 1, 1, draws()); }, "Conv2d: in must be at least 1: 0"},
      {[] { Conv2d(1, 0, 1, draws()); }, "Conv2d: out must be at least 1: 0"},
      {[] { Conv2d(1, 1, 0, draws()); }, "Conv2d: size must be at least 1: 0"},
      {[] { Conv2d(1, 1, 1, draws(), {.stride = 0}); }, "Conv2d: stride must be at least 1: 0"},
      {[] { Conv2d(1, 1, 1, draws(), {.padding = -1}); },
       "Conv2d: padding must not be negative: -1"},
      {[] { Conv2d(1, 1, 1, draws(), {.dilation = 0}); }, "Conv2d: dilation must be at least 1: 0"},
      {[] { Conv2d(2, 2, 1, draws(), {.groups = 0}); },
       "Conv2d: 0 groups do not divide 2 channels"},
      {[] { Conv1d(1, 1, 1, draws()); }, ""},
      {[] { Conv1d(0, 1, 1, draws()); }, "Conv1d: in must be at least 1: 0"},
      {[] { Conv1d(1, 1, -3, draws()); }, "Conv1d: size must be at least 1: -3"},
      {[] { Conv1d(1, 1, 1, draws(), {.stride = 0}); }, "Conv1d: stride must be at least 1: 0"},
      {[] { ConvTranspose2d(1, 1, 1, draws()); }, ""},
      {[] { ConvTranspose2d(0, 1, 1, draws()); }, "ConvTranspose2d: in must be at least 1: 0"},
      {[] { ConvTranspose2d(1, 0, 1, draws()); }, "ConvTranspose2d: out must be at least 1: 0"},
      {[] { ConvTranspose2d(1, 1, 0, draws()); }, "ConvTranspose2d: size must be at least 1: 0"},
      {[] { ConvTranspose2d(1, 1, 1, draws(), {.stride = 0}); },
       "ConvTranspose2d: stride must be at least 1: 0"},
      {[] { ConvTranspose2d(1, 1, 1, draws(), {.output_padding = -1}); },
       "ConvTranspose2d: output_padding must not be negative: -1"},
      {[] { ConvTranspose2d(1, 1, 1, draws(), {.stride = 2, .output_padding = 1}); }, ""},
      {[] { ConvTranspose2d(1, 1, 1, draws(), {.stride = 2, .output_padding = 2}); },
       "ConvTranspose2d: output_padding must lie in [0, stride): 2 with stride 2"},
      {[] { ConvTranspose2d(1, 1, 1, draws(), {.dilation = 0}); },
       "ConvTranspose2d: dilation must be at least 1: 0"},

      {[] { Norm("layer", 1); }, ""},
      {[] { Norm("layer", 0); }, "norm: channels must be at least 1: 0"},
      {[] { Norm("none", 0); }, "norm: channels must be at least 1: 0"},

      {[] { Recurrent(Cell::lstm, 1, 1, draws()); }, ""},
      {[] { Recurrent(Cell::lstm, 0, 1, draws()); }, "recurrent: in must be at least 1: 0"},
      {[] { Recurrent(Cell::gru, 1, 0, draws()); }, "recurrent: hidden must be at least 1: 0"},
      {[] { Recurrent(Cell::gru, 1, 1, draws(), {.layers = 0}); },
       "recurrent: layers must be at least 1: 0"},
      {[] { Recurrent(Cell::gru, 1, 1, draws(), {.dropout = 1}); },
       "recurrent: dropout must lie in [0, 1): 1"},
      {[] { Recurrent(Cell::gru, 1, 1, draws(), {.layers = 2, .dropout = 0.5}); }, ""},
      {[] { Recurrent(Cell::gru, 1, 1, draws(), {.dropout = 0.5}); },
       "recurrent: dropout has no effect in a single layer: 0.5; leave it out"},
      {[] { Recurrent(Cell::gru, 1, 1, draws(), {.bidirectional = true, .dropout = 0.5}); },
       "recurrent: dropout has no effect in a single layer: 0.5; leave it out"},
      {[] { Recurrent(Cell::gru, 1, 1, draws(), {.variational = true}); },
       "recurrent: variational needs a dropout above 0: 0"},
      {[] {
         Recurrent(Cell::lstm, 1, 1, draws(),
                   {.norm = "layer", .placement = CellNormPlacement::sum});
       },
       ""},
      {[] { Recurrent(Cell::lstm, 1, 1, draws(), {.placement = CellNormPlacement::sum}); },
       "recurrent: the placement needs a normalization: sum"},
      {[] {
         RecurrentLayer(Cell::lstm, 1, 1, draws(), {.placement = CellNormPlacement::per_gate});
       },
       "recurrent: the placement needs a normalization: per_gate"},
      {[] { RecurrentLayer(Cell::rnn_tanh, 1, -1, draws()); },
       "recurrent: hidden must be at least 1: -1"},
      {[] { RecurrentLayer(Cell::lstm, 1, 1, draws(), {.layers = 1, .dropout = 0}); }, ""},
      {[] { RecurrentLayer(Cell::lstm, 1, 1, draws(), {.layers = 2}); },
       "RecurrentLayer: layers has no effect: 2; leave it out"},
      {[] { RecurrentLayer(Cell::lstm, 1, 1, draws(), {.bidirectional = true}); },
       "RecurrentLayer: bidirectional has no effect: true; leave it out"},
      {[] { RecurrentLayer(Cell::lstm, 1, 1, draws(), {.dropout = 0.5}); },
       "RecurrentLayer: dropout has no effect: 0.5; leave it out"},
      {[] { RecurrentLayer(Cell::lstm, 1, 1, draws(), {.variational = true}); },
       "recurrent: variational needs a dropout above 0: 0"},
      {[] {
         Recurrent(Cell::lstm, 1, 1, draws(),
                   {.layers = 2, .bidirectional = true, .dropout = 0.5, .variational = true});
       },
       ""},
  });
}

TEST_CASE("norms refuse options that make no sense, however they are given", "[nn][options]") {
  using S = NormSpec&;
  const std::string epsilon = "norm: epsilon must be finite and not negative: ",
                    momentum = "norm: momentum must lie in [0, 1]: ",
                    share = "norm: share must lie in (0, 1]: ";
  check({
      {norm_with([](S s) { s.statistics.epsilon = 0; }), ""},
      {norm_with([](S s) { s.statistics.epsilon = -1; }), epsilon + "-1"},
      {norm_with([](S s) { s.statistics.epsilon = no_number; }), epsilon + "nan"},
      {[] { NormSpec("layer:eps=0"); }, ""},
      {[] { NormSpec("layer:eps=-1"); },
       "norm: layer: eps=-1 must be a finite number of at least 0"},
      {[] { NormSpec("layer:s=-2"); }, "norm: layer: s=-2 must be a finite number of at least 0"},
      {[] { NormSpec("batch:momentum=0"); }, ""},
      {[] { NormSpec("whiten:momentum=1"); }, ""},
      {[] { NormSpec("whiten:momentum=-0.5"); }, momentum + "-0.5"},
      {[] { NormSpec("batch:momentum=2"); }, momentum + "2"},
      {[] { NormSpec("batch:momentum=nan"); }, "norm: batch: momentum=nan must be a finite number"},
      {norm_with([](S s) { s.gain = -1; }), ""},
      {norm_with([](S s) { s.gain = no_number; }), "norm: gain must be finite: nan"},
      {[] { NormSpec("ada:c=inf"); }, "norm: ada: c=inf must be a finite number"},
      {[] { NormSpec("rms:p=1"); }, ""},
      {[] { NormSpec("rms:p=0"); }, share + "0"},
      {[] { NormSpec("rms:p=1.5"); }, share + "1.5"},
      {[] { NormSpec("batch:steps=1"); }, ""},
      {[] { NormSpec("batch:steps=0"); },
       "norm: batch: steps=0 must be a whole number from 1 to a million"},
      {[] { NormSpec("group:groups=1"); }, ""},
      {[] { NormSpec("group:groups=0"); },
       "norm: group: groups=0 must be a whole number from 1 to a million"},
      {[] { NormSpec("divisive:radius=-1"); },
       "norm: divisive: radius=-1 must be a whole number from 1 to a million"},
      {norm_with([](S s) {
         s.learned_smoothing = true;
         s.statistics.place = Epsilon::outside_root;
       }),
       "norm: a learned smoothing term must be inside the root: place is out"},
      {norm_with([](S s) { s.statistics.variance = Variance::unbiased; }, "divisive"),
       "norm: the variance over a window must be biased: unbiased is 1"},
      {[] { NormSpec("group:forward=identity,factor=1"); }, ""},
      {[] { NormSpec("layer:forward=x"); },
       "norm: layer: forward=x must be normalized or identity"},
      {[] { NormSpec("layer:factor=2"); }, "norm: layer: factor=2 must be 1/s or 1"},
      {norm_with([](S s) { s.statistics.identity_forward = true; }, "batch"),
       "norm: only layer, rms, instance, group and divisive take forward=identity and factor=1"},
      {norm_with([](S s) { s.statistics.unit_factor = true; }, "ada"),
       "norm: only layer, rms, instance, group and divisive take forward=identity and factor=1"},
  });
}

TEST_CASE("attention and Transformers refuse options that make no sense", "[nn][options]") {
  const auto stack = [](const TransformerOptions& options) {
    return [options] { TransformerStack(draws(), options); };
  };
  const TransformerOptions small{.layers = 1, .heads = 1, .channels = 1};
  const TransformerOptions four{.layers = 1, .heads = 1, .channels = 4};
  const auto with_positions = [](Positions positions, Index channels, Index length) {
    return TransformerModelOptions{.stack = {.layers = 1, .heads = 1, .channels = channels},
                                   .positions = positions,
                                   .length = length};
  };
  const auto with_caches = [](std::size_t count) {
    return [=] {
      const TransformerLm net(1, draws(), {.stack = {.layers = 2, .heads = 1, .channels = 1}});
      std::vector<AttentionCache> caches(count);
      net(Indices({1, 1}, {0}), {}, &caches);
    };
  };
  check({
      {[] { SelfAttention(2, draws(), {.heads = 2}); }, ""},
      {[] { SelfAttention(0, draws(), {}); }, "SelfAttention: channels must be at least 1: 0"},
      {[] { SelfAttention(6, draws(), {.heads = 4}); },
       "SelfAttention: 4 heads do not divide 6 channels"},
      {[] { SelfAttention(6, draws(), {.heads = 0}); },
       "SelfAttention: 0 heads do not divide 6 channels"},
      {[] { SelfAttention(4, draws(), {.heads = 2, .causal = true, .rotary = true}); }, ""},
      {[] { SelfAttention(6, draws(), {.heads = 2, .rotary = true}); },
       "SelfAttention: rotary needs an even number of channels per head: 3"},
      {[] { CrossAttention(6, draws(), {.causal = true}); },
       "CrossAttention: causal has no effect: true; leave it out"},
      {[] { CrossAttention(6, draws(), {.rotary = true}); },
       "CrossAttention: rotary has no effect: true; leave it out"},
      {[] { CrossAttention(6, draws(), {.alibi = true}); },
       "CrossAttention: alibi has no effect: true; leave it out"},
      {[] { CrossAttention(6, draws(), {.dropout = 1}); },
       "CrossAttention: dropout must lie in [0, 1): 1"},
      {[] { CrossAttention(6, draws(), {.heads = -6}); },
       "CrossAttention: -6 heads do not divide 6 channels"},
      {[] { RelativeAttention(6, draws(), {.heads = 5}); },
       "RelativeAttention: 5 heads do not divide 6 channels"},
      {[] { RelativeAttention(4, draws(), {}); }, ""},
      {[] { RelativeAttention(6, draws(), {.causal = true}); },
       "RelativeAttention: causal has no effect: true; leave it out"},
      {[] { RelativeAttention(5, draws(), {}); },
       "RelativeAttention: sines and cosines need an even number of channels, at least 4: 5"},
      {[] { RelativeAttention(6, draws(), {.rotary = true}); },
       "RelativeAttention: rotary has no effect: true; leave it out"},
      {[] { RelativeAttention(6, draws(), {.alibi = true}); },
       "RelativeAttention: alibi has no effect: true; leave it out"},
      {[] { alibi_bias(1, 2, 2); }, ""},
      {[] { alibi_bias(0, 2, 2); }, "alibi_bias: heads must be at least 1: 0"},
      {[] { alibi_bias(1, 3, 2); }, "alibi_bias: more queries than keys: 3 and 2"},
      {[] {
         alibi_bias(1, 1, Indices({2}, {0, 1}));
       },
       "alibi_bias: positions must be (B, keys): (2)"},
      {[] {
         last_columns(Indices({1, 2}, {0, 1}), 3);
       },
       "last_columns: needs (B, T) with at least 3 columns: (1, 2)"},

      {stack(small), ""},
      {stack({.layers = 0}), "transformer: layers must be at least 1: 0"},
      {stack({.heads = 3}), "SelfAttention: 3 heads do not divide 128 channels"},
      {stack({.channels = 0}), "SelfAttention: channels must be at least 1: 0"},
      {stack({.feed_forward = -1}), "transformer: feed_forward must not be negative: -1"},
      {stack({.dropout = no_number}), "SelfAttention: dropout must lie in [0, 1): nan"},
      {stack({.dropout = 1, .attention_dropout = 0, .activation_dropout = 0}),
       "transformer: dropout must lie in [0, 1): 1"},
      {stack({.attention_dropout = -1}), "SelfAttention: dropout must lie in [0, 1): -1"},
      {stack({.activation_dropout = 1}), "transformer: activation_dropout must lie in [0, 1): 1"},
      {[=] { TransformerLm(1, draws(), {.stack = small, .length = 1}); }, ""},
      {[=] { TransformerLm(0, draws(), {.stack = small}); },
       "Embedding: count must be at least 1: 0"},
      {[=] { TransformerLm(1, draws(), {.stack = small, .length = 0}); },
       "embedding: length must be at least 1: 0"},
      {[=] { TransformerLm(1, draws(), with_positions(Positions::rotary, 2, 1)); }, ""},
      {[=] { TransformerLm(1, draws(), with_positions(Positions::rotary, 2, 0)); },
       "embedding: length must be at least 1: 0"},
      {[=] { TransformerLm(1, draws(), with_positions(Positions::none, 2, -1)); },
       "embedding: length must be at least 1: -1"},
      {[=] { TransformerLm(1, draws(), with_positions(Positions::sinusoidal, 4, 1)); }, ""},
      {[=] { TransformerLm(1, draws(), with_positions(Positions::sinusoidal, 2, 1)); },
       "embedding: sines and cosines need an even number of channels, at least 4: 2"},
      {[=] { TransformerLm(1, draws(), with_positions(Positions::sinusoidal, 5, 1)); },
       "embedding: sines and cosines need an even number of channels, at least 4: 5"},
      {with_caches(0), ""},
      {with_caches(2), ""},
      {with_caches(1), "transformer: needs one cache for each of 2 blocks: 1 given"},
      {with_caches(3), "transformer: needs one cache for each of 2 blocks: 3 given"},
      {[=] { TransformerClassifier(1, 0, draws(), {.stack = small}); },
       "Linear: out must be at least 1: 0"},
      {[=] { TransformerClassifier(1, 2, draws(), {.stack = small, .tied = true}); }, ""},
      {[=] { TransformerClassifier(1, 2, draws(), {.stack = small, .tied = false}); },
       "TransformerClassifier: tied has no effect: false; leave it out"},
      {[=] { Translator(1, draws(), {.stack = small, .tied = true}); }, ""},
      {[=] { Translator(1, draws(), {.stack = small, .tied = false}); },
       "Translator: tied has no effect: false; leave it out"},
      {[] { TransformerLm(1, draws(), {.stack = {.causal = true}}); },
       "TransformerLm: stack.causal has no effect: true; leave it out"},
      {[] { TransformerClassifier(1, 2, draws(), {.stack = {.rotary = true}}); },
       "TransformerClassifier: stack.rotary has no effect: true; leave it out"},
      {[] { Translator(1, draws(), {.stack = {.alibi = true}}); },
       "Translator: stack.alibi has no effect: true; leave it out"},

      {[=] { TransformerXl(1, draws(), {.stack = four, .memory = 0}); }, ""},
      {[] { TransformerXl(1, draws(), {.stack = {.causal = true}}); },
       "RelativeAttention: causal has no effect: true; leave it out"},
      {[=] { TransformerXl(1, draws(), {.stack = small}); },
       "RelativeAttention: sines and cosines need an even number of channels, at least 4: 1"},
      {[] { TransformerXl(1, draws(), {.stack = {.rotary = true}}); },
       "RelativeAttention: rotary has no effect: true; leave it out"},
      {[] { TransformerXl(1, draws(), {.stack = {.alibi = true}}); },
       "RelativeAttention: alibi has no effect: true; leave it out"},
      {[=] { TransformerXl(1, draws(), {.stack = small, .memory = -1}); },
       "transformer_xl: memory must not be negative: -1"},
      {[] { TransformerXl(1, draws(), {.stack = {.layers = 0}}); },
       "transformer_xl: layers must be at least 1: 0"},

      {[] {
         Mlp({1, 1}, draws());
       },
       ""},
      {[] {
         Mlp({2, 0, 2}, draws());
       },
       "mlp: size must be at least 1: 0"},
      {[] {
         Mlp({2, 2}, draws(), {.dropout = 1.5});
       },
       "mlp: dropout must lie in [0, 1): 1.5"},
      {[] { CharRnn(2, draws(), {.embedding = 0}); }, "Embedding: channels must be at least 1: 0"},
      {[] { CharRnn(2, draws(), {.embedding = 2, .hidden = 2, .dropout = -1}); },
       "Dropout: rate must lie in [0, 1): -1"},
  });
}
