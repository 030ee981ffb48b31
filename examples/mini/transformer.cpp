// Trains a small causal Transformer of one block to repeat a sequence that it has just read.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "tapegrad_mini.h"

using namespace tapegrad;

// Numbers in [-1, 1) from a small generator, so that every engine sees the same.
struct Numbers {
  std::uint64_t state = 1;
  double next() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 11) / 4503599627370496.0 - 1;
  }
  Index below(Index count) { return static_cast<Index>((next() + 1) / 2 * count); }
  Tensor tensor(const Shape& shape, double scale = 1) {
    std::vector<real> values(shape.size());
    for (real& value : values) value = static_cast<real>(scale * next());
    return Tensor(shape, values);
  }
};

const Index channels = 32, length = 6, tokens = 8;  // the sequence has `length` tokens, twice

struct Net {
  Parameter table, positions, wq, wk, wv, wo, up, up_bias, down, down_bias, out, out_bias;
  explicit Net(Numbers& numbers)
      : table(numbers.tensor({tokens, channels})),
        positions(numbers.tensor({2 * length - 1, channels})),
        wq(numbers.tensor({channels, channels}, 0.3)),
        wk(numbers.tensor({channels, channels}, 0.3)),
        wv(numbers.tensor({channels, channels}, 0.3)),
        wo(numbers.tensor({channels, channels}, 0.3)),
        up(numbers.tensor({channels, 2 * channels}, 0.2)),
        up_bias(zeros({2 * channels})),
        down(numbers.tensor({2 * channels, channels}, 0.2)),
        down_bias(zeros({channels})),
        out(numbers.tensor({channels, tokens}, 0.2)),
        out_bias(zeros({tokens})) {}
  // ids: (B, T)   returns logits: (B, T, tokens)
  Tensor operator()(const Indices& ids) const {
    Tensor x = embedding(table, ids) + positions;
    const Tensor n = layer_norm(x);
    x += matmul(
        attention(matmul(n, wq), matmul(n, wk), matmul(n, wv), {.heads = 2, .causal = true}), wo);
    x += linear(gelu_tanh(linear(rms_norm(x), up, up_bias)), down, down_bias);
    return linear(layer_norm(x), out, out_bias);
  }
  std::vector<Parameter> parameters() const {
    return {table, positions, wq, wk, wv, wo, up, up_bias, down, down_bias, out, out_bias};
  }
};

int main() {
  Numbers numbers;
  const Net net(numbers);
  Adam adam(net.parameters(), {.learning_rate = 0.005});
  const Index rows = 16, steps = 2 * length - 1;
  for (int step = 0; step <= 80; ++step) {
    std::vector<Index> inputs, targets;
    for (Index row = 0; row < rows; ++row) {
      std::vector<Index> sequence;
      for (Index t = 0; t < length; ++t) sequence.push_back(numbers.below(tokens));
      for (Index t = 0; t < length; ++t) sequence.push_back(sequence[t]);
      inputs.insert(inputs.end(), sequence.begin(), sequence.end() - 1);
      targets.insert(targets.end(), sequence.begin() + 1, sequence.end());
    }
    const Indices labels({rows, length}, [&] {  // only the second half can be known
      std::vector<Index> second;
      for (Index row = 0; row < rows; ++row)
        for (Index t = length - 1; t < steps; ++t) second.push_back(targets[row * steps + t]);
      return second;
    }());
    const Tape tape;
    const Tensor logits = slice(net(Indices({rows, steps}, inputs)), 1, length - 1, steps);
    const Tensor loss = cross_entropy(logits, labels);
    adam.step(grad(loss, adam.parameters()));
    if (step % 20 == 0) std::printf("step %2d: loss %.3f\n", step, loss.item());
  }
}
