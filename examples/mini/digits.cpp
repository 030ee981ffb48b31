// Trains a net with layer normalization to read digits that the program draws itself.
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

// Digits of 3 x 5 dots at random places in noisy pictures of 6 x 8 pixels.
struct Digits {
  Tensor images;
  Indices labels;
};
Digits draw(Index count, Numbers& numbers) {
  const int font[] = {0b111'101'101'101'111, 0b010'110'010'010'111, 0b111'001'111'100'111,
                      0b111'001'111'001'111, 0b101'101'111'001'001, 0b111'100'111'001'111,
                      0b111'100'111'101'111, 0b111'001'001'001'001, 0b111'101'111'101'111,
                      0b111'101'111'001'111};
  std::vector<real> pixels;
  std::vector<Index> labels;
  for (Index i = 0; i < count; ++i) {
    const Index digit = numbers.below(10), top = numbers.below(4), left = numbers.below(4);
    for (Index row = 0; row < 8; ++row)
      for (Index column = 0; column < 6; ++column) {
        const Index y = row - top, x = column - left;
        const bool inside = y >= 0 && y < 5 && x >= 0 && x < 3;
        const bool ink = inside && (font[digit] >> (14 - y * 3 - x) & 1);
        pixels.push_back(static_cast<real>((ink ? 1 : 0) + 0.3 * numbers.next()));
      }
    labels.push_back(digit);
  }
  return {Tensor({count, 48}, pixels), Indices({count}, labels)};
}

struct Net {
  Parameter weight1, gain, bias1, weight2, bias2;
  explicit Net(Numbers& numbers)
      : weight1(numbers.tensor({48, 64}, 0.2)),
        gain(ones({64})),
        bias1(zeros({64})),
        weight2(numbers.tensor({64, 10}, 0.2)),
        bias2(zeros({10})) {}
  Tensor operator()(const Tensor& x) const {
    return linear(relu(layer_norm(matmul(x, weight1)) * gain + bias1), weight2, bias2);
  }
  std::vector<Parameter> parameters() const { return {weight1, gain, bias1, weight2, bias2}; }
};

int main() {
  Numbers numbers;
  const Net net(numbers);
  Adam adam(net.parameters(), {.learning_rate = 0.01});
  for (int step = 0; step <= 150; ++step) {
    const Digits batch = draw(32, numbers);
    const Tape tape;
    const Tensor loss = cross_entropy(net(batch.images), batch.labels);
    adam.step(grad(loss, adam.parameters()));
    if (step % 50 == 0) std::printf("step %3d: loss %.3f\n", step, loss.item());
  }
  const Digits unseen = draw(500, numbers);
  const Indices found = argmax(net(unseen.images));
  int right = 0;
  for (Index i = 0; i < 500; ++i) right += found.data()[i] == unseen.labels.data()[i];
  std::printf("%d of 500 unseen digits are read correctly\n", right);
}
