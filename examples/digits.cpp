// Trains a network to read digits and prints its accuracy on digits that it has never seen. Usage:
// digits [DIRECTORY OF MNIST]; without a directory it draws digits itself.
#include <tapegrad/tapegrad.h>

using namespace tapegrad;

// Digits of 6 x 10 pixels at random places in noisy pictures of 16 x 16.
ImageSet draw_digits(Index count, Random& random) {
  const int font[] = {0b111'101'101'101'111, 0b010'110'010'010'111, 0b111'001'111'100'111,
                      0b111'001'111'001'111, 0b101'101'111'001'001, 0b111'100'111'001'111,
                      0b111'100'111'101'111, 0b111'001'001'001'001, 0b111'101'111'101'111,
                      0b111'101'111'001'111};  // five rows of three dots, each 2 x 2 pixels
  ImageSet set;
  set.height = set.width = 16;
  for (Index i = 0; i < count; ++i) {
    const Index digit = random.below(10), top = random.below(7), left = random.below(11);
    for (Index row = 0; row < 16; ++row)
      for (Index column = 0; column < 16; ++column) {
        const Index y = row - top, x = column - left;
        const bool inside = y >= 0 && y < 10 && x >= 0 && x < 6;
        const bool ink = inside && font[digit] >> (14 - y / 2 * 3 - x / 2) & 1;
        set.pixels.push_back(static_cast<std::uint8_t>(155 * ink + random.below(101)));
      }
    set.labels.push_back(static_cast<std::uint8_t>(digit));
  }
  return set;
}

// Two convolutions, each with ReLU and pooling by 2, and a linear layer to the ten logits.
Sequential make_net(const ImageSet& set, Random& random) {
  const auto activate = [](const Tensor& x) { return max_pool2d(relu(x)); };
  return {Conv2d(1, 8, 5, random, {.padding = 2}),
          activate,
          Conv2d(8, 16, 5, random, {.padding = 2}),
          activate,
          Flatten(),
          Linear(16 * (set.height / 4) * (set.width / 4), 10, random)};
}

// The share of the images whose most probable digit is the label.
double share_read(const Sequential& net, const ImageSet& set) {
  RunningMean right;
  for (const auto& [images, labels] : Batches(set, 500))
    right.add(accuracy(net(images), labels), labels.size());
  return right.value();
}

void train(const TrainAndTest& digits, Random& random) {
  const Sequential net = make_net(digits.train, random);
  Adam adam(parameters(net), {.learning_rate = 0.003});
  EpochBatches batches(digits.train, 64, 1);
  for (Index step = 0; step <= 600; ++step) {
    const auto& [images, labels] = batches.at(step);
    Tape tape;
    const Tensor loss = cross_entropy(net(images), labels);
    adam.step(grad(loss, adam.parameters()));
    if (step % 200 == 0) fmt::print("step {:3}: loss {:.4f}\n", step, loss.item());
  }
  fmt::print("{:.1f} % of {} unseen digits are read correctly\n",
             100 * share_read(net, digits.test), digits.test.count());
}

int main(int argc, char** argv) {
  try {
    expect<Error>(argc <= 2, "one argument at most: {} given", argc - 1);
    Random random(1);
    if (argc > 1)
      train(read_mnist(argv[1]), random);
    else
      train({draw_digits(8000, random), draw_digits(1000, random)}, random);
  } catch (const std::exception& error) {
    fmt::print(stderr, "digits: {}\n", error.what());
    return 1;
  }
}
