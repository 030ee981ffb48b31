// Trains an LSTM to predict the next character of a rhyme.
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

const std::string rhyme =
    "this is the house that jack built. "
    "this is the malt that lay in the house that jack built. "
    "this is the rat that ate the malt that lay in the house that jack built. ";

Index id_of(char letter) { return letter == ' ' ? 26 : letter == '.' ? 27 : letter - 'a'; }

struct Net {
  Parameter table, weight_x, bias, weight_h, weight_out, bias_out;
  explicit Net(Numbers& numbers)
      : table(numbers.tensor({28, 12})),
        weight_x(numbers.tensor({12, 4 * 32}, 0.2)),
        bias(zeros({4 * 32})),
        weight_h(numbers.tensor({32, 4 * 32}, 0.2)),
        weight_out(numbers.tensor({32, 28}, 0.2)),
        bias_out(zeros({28})) {}
  // ids: (T, B)   returns logits: (T, B, 28)
  Tensor operator()(const Indices& ids) const {
    const Tensor inputs = linear(embedding(table, ids), weight_x, bias);
    const Tensor none = zeros({ids.shape()[1], 32});
    return linear(recurrent(Cell::lstm, inputs, weight_h, {none, none}).outputs, weight_out,
                  bias_out);
  }
  std::vector<Parameter> parameters() const {
    return {table, weight_x, bias, weight_h, weight_out, bias_out};
  }
};

int main() {
  Numbers numbers;
  const Net net(numbers);
  Adam adam(net.parameters(), {.learning_rate = 0.02});
  const Index steps = 16, rows = 8;
  for (int step = 0; step <= 60; ++step) {
    std::vector<Index> inputs(steps * rows), targets = inputs;
    for (Index row = 0; row < rows; ++row) {
      const Index begin = numbers.below(std::ssize(rhyme) - steps);
      for (Index t = 0; t < steps; ++t) {
        inputs[t * rows + row] = id_of(rhyme[begin + t]);
        targets[t * rows + row] = id_of(rhyme[begin + t + 1]);
      }
    }
    const Tape tape;
    const Tensor loss =
        cross_entropy(net(Indices({steps, rows}, inputs)), Indices({steps, rows}, targets));
    adam.step(grad(loss, adam.parameters()));
    if (step % 20 == 0) std::printf("step %2d: %.3f nats per character\n", step, loss.item());
  }
}
