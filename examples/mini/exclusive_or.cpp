// Trains a small net on exclusive or, which no single linear layer can compute, first with momentum
// and then with Adam.
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

struct Net {
  Parameter weight1, bias1, weight2, bias2;
  explicit Net(Numbers& numbers)
      : weight1(numbers.tensor({2, 8})),
        bias1(zeros({8})),
        weight2(numbers.tensor({8, 2}, 0.5)),
        bias2(zeros({2})) {}
  Tensor operator()(const Tensor& x) const {
    return linear(tanh(linear(x, weight1, bias1)), weight2, bias2);
  }
  std::vector<Parameter> parameters() const { return {weight1, bias1, weight2, bias2}; }
};

template <class Optimizer>
void train(const Net& net, Optimizer optimizer) {
  const Tensor inputs({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1});
  const Indices labels({4}, {0, 1, 1, 0});
  for (int step = 0; step <= 200; ++step) {
    const Tape tape;  // for this step only
    const Tensor loss = cross_entropy(net(inputs), labels);
    optimizer.step(grad(loss, optimizer.parameters()));
    if (step % 50 == 0) std::printf("step %3d: loss %.4f\n", step, loss.item());
  }
  const Tensor probabilities = softmax(net(inputs));  // without a tape, nothing is recorded
  for (Index i = 0; i < 4; ++i)
    std::printf("%g xor %g: true with probability %.3f\n", inputs.data()[2 * i],
                inputs.data()[2 * i + 1], probabilities.data()[2 * i + 1]);
}

int main() {
  Numbers numbers;
  const Net first(numbers), second(numbers);
  train(first, Sgd(first.parameters(), {.learning_rate = 0.1, .momentum = 0.9}));
  train(second, Adam(second.parameters(), {.learning_rate = 0.02}));
}
