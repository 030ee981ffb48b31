#include <catch2/catch.hpp>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tapegrad/core/error.h"
#include "tapegrad/models/char_rnn.h"
#include "tapegrad/models/mlp.h"
#include "tapegrad/models/transformer.h"
#include "tapegrad/models/transformer_xl.h"
#include "tapegrad/nn/average.h"
#include "tapegrad/nn/conv.h"
#include "tapegrad/nn/data/batches.h"
#include "tapegrad/nn/data/sentences.h"
#include "tapegrad/nn/data/text.h"
#include "tapegrad/nn/gradients.h"
#include "tapegrad/nn/init.h"
#include "tapegrad/nn/optimizer.h"
#include "tapegrad/nn/schedule.h"
#include "tapegrad/ops/elementwise.h"

using namespace tapegrad;
using Catch::Matchers::Equals;

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// What makes something with an option, and the message that refuses it; "" where it is legal.
struct Row {
  std::function<void()> make;
  std::string message;
};

void check(const std::vector<Row>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    INFO("row " << i);
    if (rows[i].message.empty())
      CHECK_NOTHROW(rows[i].make());
    else
      CHECK_THROWS_WITH(rows[i].make(), Equals(rows[i].message));
  }
}

Random& draws() {
  static Random random(1);
  return random;
}

std::vector<Parameter> weights() { return {Parameter(ones({2}), "w")}; }

Indices ids(Index count) {
  return Indices({count}, std::vector<Index>(static_cast<std::size_t>(count)));
}

/// Makes a norm of four channels whose options `change` has filled field by field.
std::function<void()> norm_with(const std::function<void(NormSpec&)>& change,
                                const char* name = "layer") {
  return [=] {
    NormSpec spec(name);
    change(spec);
    Norm(spec, 4);
  };
}

ImageSet images(Index count) {
  const auto size = static_cast<std::size_t>(count);
  return {1, 1, std::vector<std::uint8_t>(size), std::vector<std::uint8_t>(size)};
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
      {[] { Recurrent(Cell::gru, 1, 1, draws(), {.dropout = 0.5, .variational = true}); }, ""},
      {[] { Recurrent(Cell::gru, 1, 1, draws(), {.variational = true}); },
       "recurrent: variational needs a dropout: 0"},
      {[] { Recurrent(Cell::lstm, 1, 1, draws(), {.norm = "layer", .wiring = NormWiring::sum}); },
       ""},
      {[] { Recurrent(Cell::lstm, 1, 1, draws(), {.wiring = NormWiring::sum}); },
       "recurrent: the wiring needs a normalization: sum"},
      {[] { RecurrentLayer(Cell::lstm, 1, 1, draws(), {.wiring = NormWiring::per_gate}); },
       "recurrent: the wiring needs a normalization: per_gate"},
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
       "recurrent: variational needs a dropout: 0"},
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
      {[] { NormSpec("layer:eps=-1"); }, epsilon + "-1"},
      {[] { NormSpec("layer:s=-2"); }, "norm: s must be finite and not negative: -2"},
      {norm_with([](S s) { s.momentum = 0; }), ""},
      {norm_with([](S s) { s.momentum = 1; }), ""},
      {norm_with([](S s) { s.momentum = -0.5; }), momentum + "-0.5"},
      {norm_with([](S s) { s.momentum = 1.5; }), momentum + "1.5"},
      {norm_with([](S s) { s.momentum = no_number; }), momentum + "nan"},
      {[] { NormSpec("batch:momentum=2"); }, momentum + "2"},
      {norm_with([](S s) { s.gain = -1; }), ""},
      {norm_with([](S s) { s.gain = no_number; }), "norm: gain must be finite: nan"},
      {norm_with([](S s) { s.ada.factor = infinity; }), "norm: ada.factor must be finite: inf"},
      {norm_with([](S s) { s.ada.slope = no_number; }), "norm: ada.slope must be finite: nan"},
      {norm_with([](S s) { s.share = 1; }), ""},
      {norm_with([](S s) { s.share = 0; }), share + "0"},
      {norm_with([](S s) { s.share = 1.5; }), share + "1.5"},
      {norm_with([](S s) { s.share = no_number; }), share + "nan"},
      {[] { NormSpec("rms:p=0"); }, share + "0"},
      {norm_with([](S s) { s.steps = 1; }), ""},
      {norm_with([](S s) { s.steps = 0; }), "norm: steps must be at least 1: 0"},
      {[] { NormSpec("batch:steps=0"); }, "norm: steps=0 is not a whole number from 1 on"},
      {norm_with([](S s) { s.groups = 1; }), ""},
      {norm_with([](S s) { s.groups = 0; }), "norm: groups must be at least 1: 0"},
      {norm_with([](S s) { s.radius = 0; }), ""},
      {norm_with([](S s) { s.radius = -1; }), "norm: radius must not be negative: -1"},
      {norm_with([](S s) {
         s.learned_smoothing = true;
         s.statistics.place = Epsilon::outside_root;
       }),
       "norm: a learned smoothing term stands inside the root: place is out"},
      {norm_with([](S s) { s.statistics.variance = Variance::unbiased; }, "divisive"),
       "norm: the variance over a window is biased: unbiased is 1"},
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
       "SelfAttention: rotary needs an even number of channels a head: 3"},
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
      {[] { RelativeAttention(4, draws(), {.causal = true}); }, ""},
      {[] { RelativeAttention(5, draws(), {}); },
       "RelativeAttention: sines and cosines need an even number of channels from 4 on: 5"},
      {[] { RelativeAttention(6, draws(), {.rotary = true}); },
       "RelativeAttention: rotary has no effect: true; leave it out"},
      {[] { RelativeAttention(6, draws(), {.alibi = true}); },
       "RelativeAttention: alibi has no effect: true; leave it out"},
      {[] { alibi_bias(1, 2, 2); }, ""},
      {[] { alibi_bias(0, 2, 2); }, "alibi_bias: heads must be at least 1: 0"},
      {[] { alibi_bias(1, 3, 2); }, "alibi_bias: more queries than keys: 3 to 2"},

      {stack(small), ""},
      {stack({.layers = 0}), "transformer: layers must be at least 1: 0"},
      {stack({.heads = 3}), "SelfAttention: 3 heads do not divide 128 channels"},
      {stack({.channels = 0}), "SelfAttention: channels must be at least 1: 0"},
      {stack({.feed_forward = -1}), "transformer: feed_forward must not be negative: -1"},
      {stack({.dropout = no_number}), "SelfAttention: dropout must lie in [0, 1): nan"},
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
       "embedding: sines and cosines need an even number of channels from 4 on: 2"},
      {[=] { TransformerLm(1, draws(), with_positions(Positions::sinusoidal, 5, 1)); },
       "embedding: sines and cosines need an even number of channels from 4 on: 5"},
      {with_caches(0), ""},
      {with_caches(2), ""},
      {with_caches(1), "transformer: one cache for each of 2 blocks is needed: 1"},
      {with_caches(3), "transformer: one cache for each of 2 blocks is needed: 3"},
      {[=] { TransformerClassifier(1, 0, draws(), {.stack = small}); },
       "Linear: out must be at least 1: 0"},
      {[=] { TransformerXl(1, draws(), {.stack = four, .memory = 0}); }, ""},
      {[=] { TransformerXl(1, draws(), {.stack = small}); },
       "RelativeAttention: sines and cosines need an even number of channels from 4 on: 1"},
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

TEST_CASE("optimizers refuse options that make no sense", "[nn][options]") {
  const std::string rate = ": rate must be finite and not negative: ",
                    decay = ": weight_decay must be finite and not negative: ",
                    epsilon = ": epsilon must be finite and not negative: ";
  check({
      {[] { Sgd(weights(), {.rate = 0, .momentum = 0, .weight_decay = 0}); }, ""},
      {[] { Sgd(weights(), {.rate = -1}); }, "sgd" + rate + "-1"},
      {[] { Sgd(weights(), {.rate = no_number}); }, "sgd" + rate + "nan"},
      {[] { Sgd(weights(), {.rate = infinity}); }, "sgd" + rate + "inf"},
      {[] { Sgd(weights(), {.momentum = -0.5}); }, "sgd: momentum must lie in [0, 1): -0.5"},
      {[] { Sgd(weights(), {.momentum = 1}); }, "sgd: momentum must lie in [0, 1): 1"},
      {[] { Sgd(weights(), {.momentum = no_number}); }, "sgd: momentum must lie in [0, 1): nan"},
      {[] { Sgd(weights(), {.weight_decay = -1}); }, "sgd" + decay + "-1"},
      {[] { Sgd(weights()).set_rate(0); }, ""},
      {[] { Sgd(weights()).set_rate(-0.5); }, "sgd" + rate + "-0.5"},
      {[] { Adam(weights(), {.rate = 0, .beta1 = 0, .beta2 = 0, .epsilon = 0}); }, ""},
      {[] { Adam(weights(), {.rate = no_number}); }, "adam" + rate + "nan"},
      {[] { Adam(weights(), {.beta1 = 1}); }, "adam: beta1 must lie in [0, 1): 1"},
      {[] { Adam(weights(), {.beta2 = -0.1}); }, "adam: beta2 must lie in [0, 1): -0.1"},
      {[] { Adam(weights(), {.beta2 = 1}); }, "adam: beta2 must lie in [0, 1): 1"},
      {[] { Adam(weights(), {.epsilon = -1}); }, "adam" + epsilon + "-1"},
      {[] { Adam(weights(), {.weight_decay = no_number}); }, "adam" + decay + "nan"},
      {[] { Adam(weights()).set_rate(no_number); }, "adam" + rate + "nan"},
      {[] { AdamW(weights(), {.rate = 0, .weight_decay = 0}); }, ""},
      {[] { AdamW(weights(), {.rate = -1}); }, "adamw" + rate + "-1"},
      {[] { AdamW(weights(), {.beta1 = no_number}); }, "adamw: beta1 must lie in [0, 1): nan"},
      {[] { AdamW(weights(), {.weight_decay = -1}); }, "adamw" + decay + "-1"},
      {[] { RmsProp(weights(), {.rate = 0, .alpha = 0, .epsilon = 0, .momentum = 0}); }, ""},
      {[] { RmsProp(weights(), {.rate = -1}); }, "rms_prop" + rate + "-1"},
      {[] { RmsProp(weights(), {.alpha = 1}); }, "rms_prop: alpha must lie in [0, 1): 1"},
      {[] { RmsProp(weights(), {.epsilon = no_number}); }, "rms_prop" + epsilon + "nan"},
      {[] { RmsProp(weights(), {.momentum = 2}); }, "rms_prop: momentum must lie in [0, 1): 2"},
      {[] { RmsProp(weights(), {.weight_decay = infinity}); }, "rms_prop" + decay + "inf"},
      {[] { Adagrad(weights(), {.rate = 0, .rate_decay = 0, .epsilon = 0}); }, ""},
      {[] { Adagrad(weights(), {.rate = infinity}); }, "adagrad" + rate + "inf"},
      {[] { Adagrad(weights(), {.rate_decay = -1}); },
       "adagrad: rate_decay must be finite and not negative: -1"},
      {[] { Adagrad(weights(), {.epsilon = -1}); }, "adagrad" + epsilon + "-1"},
      {[] { Adagrad(weights(), {.weight_decay = -1}); }, "adagrad" + decay + "-1"},
      {[] { ExponentialAverage(weights(), 0); }, ""},
      {[] { ExponentialAverage(weights(), 1); },
       "exponential_average: decay must lie in [0, 1): 1"},
      {[] { ExponentialAverage(weights(), no_number); },
       "exponential_average: decay must lie in [0, 1): nan"},
      {[] {
         const Parameter w(ones({2}), "w");
         ExponentialAverage({w, w});
       },
       "exponential_average: a parameter is listed twice: w (2)"},
      {[] { ExponentialAverage({Parameter()}); },
       "exponential_average: a parameter holds no tensor: "},
  });
}

TEST_CASE("optimizers refuse parameters and gradients that do not belong", "[nn][options]") {
  const Parameter w(ones({2}), "w");
  check({
      {[=] {
         Sgd({w, w});
       },
       "sgd: a parameter is listed twice: w (2)"},
      {[=] {
         Adam({w, Parameter()});
       },
       "adam: a parameter holds no tensor: "},
      {[=] { Sgd({w}).step({ones({2})}); }, ""},
      {[=] { Sgd({w}).step({}); }, "sgd: 0 gradients for 1 parameters"},
      {[=] {
         Sgd({w}).step({ones({2}), ones({2})});
       },
       "sgd: 2 gradients for 1 parameters"},
      {[=] { AdamW({w}).step({Tensor()}); },
       "adamw: gradient 0 is undefined: for parameter w of shape (2)"},
      {[=] { AdamW({w}).step({ones({1})}); },
       "adamw: gradient 0 has another shape: (1) for parameter w of shape (2)"},
      {[=] { Sgd({w}).restore(-1, Sgd({w}).moments()); }, "sgd: steps must not be negative: -1"},
  });
}

TEST_CASE("schedules refuse rates and steps that make no sense", "[nn][options]") {
  const std::string finite = " must be finite and not negative: ";
  check({
      {[] { constant_rate(0)(0); }, ""},
      {[] { constant_rate(no_number); },
       "constant_rate: rate must be finite and not negative: nan"},
      {[] { constant_rate(1)(-1); }, "constant_rate: step must not be negative: -1"},
      {[] { warmup_inverse_sqrt(0, 1)(0); }, ""},
      {[=] { warmup_inverse_sqrt(-1, 1); }, "warmup_inverse_sqrt: rate" + finite + "-1"},
      {[] { warmup_inverse_sqrt(1, 0); }, "warmup_inverse_sqrt: warmup must be at least 1: 0"},
      {[=] { warmup_inverse_sqrt(1, 1, no_number); },
       "warmup_inverse_sqrt: initial" + finite + "nan"},
      {[] { warmup_inverse_sqrt(1, 1)(-2); }, "warmup_inverse_sqrt: step must not be negative: -2"},
      {[] { cosine(0, 1, 0, 0)(0); }, ""},
      {[=] { cosine(infinity, 1); }, "cosine: rate" + finite + "inf"},
      {[=] { cosine(1, 1, -1); }, "cosine: final" + finite + "-1"},
      {[] { cosine(1, 0); }, "cosine: 0 steps must be more than 0 of warmup"},
      {[] { cosine(1, 5, 0, -1); }, "cosine: 5 steps must be more than -1 of warmup"},
      {[] { cosine(1, 5)(-1); }, "cosine: step must not be negative: -1"},
      {[] { step_decay(0, 1, 0)(0); }, ""},
      {[=] { step_decay(-1, 1); }, "step_decay: rate" + finite + "-1"},
      {[] { step_decay(1, -1); }, "step_decay: every must be at least 1: -1"},
      {[=] { step_decay(1, 1, no_number); }, "step_decay: factor" + finite + "nan"},
      {[] { step_decay(1, 1)(-1); }, "step_decay: step must not be negative: -1"},
      {[] { exponential(0, 0)(0); }, ""},
      {[=] { exponential(no_number, 1); }, "exponential: rate" + finite + "nan"},
      {[=] { exponential(1, -1); }, "exponential: factor" + finite + "-1"},
      {[] { exponential(1, 1)(-1); }, "exponential: step must not be negative: -1"},
      {[] { Plateau(0, {.patience = 0, .threshold = 0, .cooldown = 0, .least = 0}); }, ""},
      {[=] { Plateau{no_number}; }, "plateau: rate" + finite + "nan"},
      {[] { Plateau(1, {.factor = 1}); }, "plateau: factor must lie in (0, 1): 1"},
      {[] { Plateau(1, {.patience = -1}); }, "plateau: patience must not be negative: -1"},
      {[] { Plateau(1, {.threshold = -1}); }, "plateau: threshold must lie in [0, 1): -1"},
      {[] { Plateau(1, {.threshold = 1}); }, "plateau: threshold must lie in [0, 1): 1"},
      {[] { Plateau(1, {.cooldown = -1}); }, "plateau: cooldown must not be negative: -1"},
      {[=] { Plateau(1, {.least = no_number}); }, "plateau: least" + finite + "nan"},
  });
}

TEST_CASE("clipping refuses limits and gradients that make no sense", "[nn][options]") {
  const auto with = [](auto clip, double limit, std::vector<Tensor> gradients = {ones({2})}) {
    return [=]() mutable { clip(gradients, limit); };
  };
  const std::vector<Tensor> one_missing{ones({2}), Tensor()};
  check({
      {with(clip_by_global_norm, infinity), ""},
      {with(clip_by_global_norm, -1), "clip_by_global_norm: the limit must be positive: -1"},
      {with(clip_by_global_norm, no_number),
       "clip_by_global_norm: the limit must be positive: nan"},
      {with(clip_by_norm, 0), "clip_by_norm: the limit must be positive: 0"},
      {with(clip_by_norm, no_number), "clip_by_norm: the limit must be positive: nan"},
      {with(clip_by_value, infinity), ""},
      {with(clip_by_value, no_number), "clip_by_value: the limit must be positive: nan"},
      {with(clip_by_global_norm, 1, one_missing),
       "clip_by_global_norm: gradient 1 of 2 is undefined"},
      {with(clip_by_norm, 1, one_missing), "clip_by_norm: gradient 1 of 2 is undefined"},
      {with(clip_by_value, 1, one_missing), "clip_by_value: gradient 1 of 2 is undefined"},
      {[] {
         std::vector<Tensor> total{ones({2})};
         accumulate(total, {Tensor()});
       },
       "accumulate: gradient 0 of 1 is undefined"},
      {[] {
         std::vector<Tensor> total{ones({2})};
         accumulate(total, {ones({1})});
       },
       "accumulate: shapes of gradient 0 differ: (1) to (2)"},
  });
}

TEST_CASE("batches refuse an empty set and sizes that make no sense", "[nn][options]") {
  const ImageSet one = images(1), none = images(0);
  check({
      {[&] { Batches(one, 1); }, ""},
      {[&] { Batches(none, 1); }, "batches: the set is empty: 0 images"},
      {[&] { Batches(one, 0); }, "batches: size must be at least 1: 0"},
      {[&] { Batches(one, 1, draws(), -1); }, "batches: first must not be negative: -1"},
  });
}

TEST_CASE("texts and sentences refuse sizes that make no sense", "[nn][options]") {
  const std::vector<Sentence> sentences{{0, {"a", "b"}}};
  const Vocabulary words(sentences, 1);
  const std::string undefined =
      ": input 0 is undefined: it was made without a value, or is a parameter that its layer does "
      "not have";
  check({
      {[] { text_rows(ids(2), {0}, 1); }, ""},
      {[] { text_rows(ids(2), {0}, 0); }, "text: length must be at least 1: 0"},
      {[] { random_rows(ids(2), 1, 1, draws()); }, ""},
      {[] { random_rows(ids(2), 0, 1, draws()); }, "text: batch must be at least 1: 0"},
      {[] { random_rows(ids(2), 1, 0, draws()); }, "text: length must be at least 1: 0"},
      {[] { random_rows(ids(2), 1, -1, draws()); }, "text: length must be at least 1: -1"},
      {[] { random_rows({}, 1, 1, draws()); }, "text" + undefined},
      {[] { TextStreams(Indices(), 1, 1); }, "text" + undefined},
      {[] { text_blocks({}, 1, 1); }, "text" + undefined},
      {[] { Characters("a").decode({}); }, "characters" + undefined},
      {[&] { Vocabulary(sentences, 0); }, "vocabulary: least must be at least 1: 0"},
      {[&] { sentence_batches(sentences, words, 1); }, ""},
      {[&] { sentence_batches(sentences, words, 0); },
       "sentence_batches: tokens must be at least 1: 0"},
  });
}
