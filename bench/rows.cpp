#include "rows.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "tapegrad/tapegrad.h"

namespace tapegrad::bench {
namespace {

using Step = std::function<void()>;

// A training step on images: forward, loss, backward, Adam.
template <class Net>
struct Training {
  Random random{1};
  Net net;
  Adam adam;
  Tensor images;
  Indices labels;

  Training(Index batch, Net n)
      : net(std::move(n)),
        adam(parameters(net)),
        images(random.uniform({batch, 1, 28, 28})),
        labels({batch}, std::vector<Index>(static_cast<std::size_t>(batch), 3)) {}

  void step() {
    const Tape tape;
    const Tensor loss = cross_entropy(net(images, training(random)), labels);
    adam.step(grad(loss, adam.parameters()));
  }
};

template <class Net>
Step training_step(Index batch, Net net) {
  auto run = std::make_shared<Training<Net>>(batch, std::move(net));
  return [run] { run->step(); };
}

BenchRow mlp(const char* name, Index batch, const char* norm) {
  return {name, [=] {
            Random random(2);
            return training_step(batch, Mlp({784, 1024, 1024, 10}, random, {.norm = norm}));
          }};
}

BenchRow cnn() {
  return {"cnn", [] {
            Random random(2);
            return training_step(32, ConvNet(random, {.hidden_norm = "layer"}));
          }};
}

// A training step of a character model of length 64 and batch 32, with gradients clipped at 1.
BenchRow char_rnn(const char* name, Cell cell, const char* norm) {
  return {name, [=]() -> Step {
            Random random(1);
            const auto drawn = std::make_shared<Random>(2);
            const CharRnn net(65, random, {.cell = cell, .recurrent = {.norm = norm}});
            auto adam = std::make_shared<Adam>(parameters(net));
            const Indices ids = random_tokens(65, {64, 32}, random),
                          targets = random_tokens(65, {64, 32}, random);
            return [=] {
              const Tape tape;
              const Tensor loss = cross_entropy(net(ids, {}, training(*drawn)).logits, targets);
              std::vector<Tensor> gradients = grad(loss, adam->parameters());
              clip_by_global_norm(gradients, 1);
              adam->step(gradients);
            };
          }};
}

// A training step of a decoder-only model on one of these batches after another: (sequences,
// length).
BenchRow transformer(const char* name, const TransformerOptions& stack,
                     const std::vector<Shape>& shapes) {
  return {name, [=]() -> Step {
            Index length = 0;
            for (const Shape& shape : shapes) length = std::max(length, shape[1]);
            Random random(1);
            const auto drawn = std::make_shared<Random>(2);
            const TransformerLm net(65, random, {.stack = stack, .length = length});
            auto adam = std::make_shared<AdamW>(parameters(net));
            std::vector<std::pair<Indices, Indices>> batches;
            for (const Shape& shape : shapes)
              batches.emplace_back(random_tokens(65, shape, random),
                                   random_tokens(65, shape, random));
            return [=, step = std::size_t{0}]() mutable {
              const auto& [ids, targets] = batches[step++ % batches.size()];
              const Tape tape;
              const Tensor loss = cross_entropy(net(ids, training(*drawn)), targets);
              adam->step(grad(loss, adam->parameters()));
            };
          }};
}

// Lengths of 17 to 128, each once in 112 steps.
std::vector<Shape> varying_shapes() {
  std::vector<Shape> shapes;
  for (Index i = 0; i < 112; ++i) shapes.push_back({16, 17 + 37 * i % 112});
  return shapes;
}

BenchRow matmul1024() {
  return {"matmul1024", []() -> Step {
            Random random(1);
            const Tensor x = random.normal({1024, 1024}), seed = random.normal({1024, 1024});
            const Linear layer(1024, 1024, random);
            return [=] {
              const Tape tape;
              const Tensor in = watch(x), w = layer.weight, b = layer.bias;
              grad(linear(in, w, b), {in, w, b}, {.seed = seed});
            };
          }};
}

// Causal attention alone, with heads of 64 channels.
BenchRow attention4096(const char* name, Index heads) {
  return {name, [=]() -> Step {
            Random random(1);
            const Shape shape{1, 4096, 64 * heads};
            const Tensor q = random.normal(shape), k = random.normal(shape),
                         v = random.normal(shape), seed = random.normal(shape);
            return [=] {
              const Tape tape;
              const Tensor queries = watch(q), keys = watch(k), values = watch(v);
              grad(attention(queries, keys, values, {.heads = heads, .causal = true}),
                   {queries, keys, values}, {.seed = seed});
            };
          }};
}

BenchRow layernorm(Index rows, Index columns, bool readable) {
  const std::string name =
      fmt::format("layernorm_{}x{}{}", rows, columns, readable ? "_composite" : "");
  return {name, [=]() -> Step {
            Random random(1);
            const Tensor x = random.normal({rows, columns}), seed = random.normal({rows, columns});
            return [=] {
              std::optional<Composite> composite;
              if (readable) composite.emplace();
              const Tape tape;
              const Tensor in = watch(x);
              grad(layer_norm(in), in, {.seed = seed});
            };
          }};
}

// Repeats a row with products in bfloat16.
BenchRow in_bfloat16(const char* name, const BenchRow& row) {
  return {name, [=]() -> Step {
            return [step = row.prepare()] {
              const PrecisionScope products(Precision::bfloat16);
              step();
            };
          }};
}

}  // namespace

Indices random_tokens(Index vocabulary, const Shape& shape, Random& random) {
  Indices tokens = Indices::uninitialized(shape);
  for (Index i = 0; i < tokens.size(); ++i) tokens.mutable_data()[i] = random.below(vocabulary);
  return tokens;
}

std::vector<BenchRow> rows() {
  const BenchRow large = mlp("mlp", 128, "layer");
  const BenchRow medium =
      transformer("transformer_m", {.layers = 6, .heads = 6, .channels = 384}, {{4, 256}});
  std::vector<BenchRow> list{large,
                             in_bfloat16("mlp_bf16", large),
                             mlp("mlp_nonorm", 128, "none"),
                             mlp("mlp_bn", 128, "batch"),
                             mlp("mlp_b4", 4, "layer"),
                             mlp("mlp_b32", 32, "layer"),
                             cnn(),
                             char_rnn("rnn", Cell::rnn_tanh, "none"),
                             char_rnn("lstm", Cell::lstm, "none"),
                             char_rnn("gru", Cell::gru, "none"),
                             char_rnn("lnlstm", Cell::lstm, "layer"),
                             char_rnn("bnlstm", Cell::lstm, "batch:steps=64,gain=0.1"),
                             transformer("transformer", {}, {{16, 128}}),
                             transformer("transformer_dropout", {.dropout = 0.1}, {{16, 128}}),
                             transformer("transformer_varying", {}, varying_shapes()),
                             medium,
                             in_bfloat16("transformer_m_bf16", medium),
                             overhead(),
                             matmul1024(),
                             attention4096("attention4096", 4),
                             attention4096("attention4096_h1", 1)};
  for (const auto& [r, c] : {std::pair<Index, Index>{4096, 512}, {128, 1024}, {64, 2048}})
    for (const bool readable : {false, true}) list.push_back(layernorm(r, c, readable));
  for (const auto& others : {inference(), files()})
    list.insert(list.end(), others.begin(), others.end());
  return list;
}

}  // namespace tapegrad::bench
