// Trains a residual network (He et al. 2016) on a set of images of its own: circles, squares and
// crosses. Holds out a fifth of them and prints the accuracy on that. Usage: shapes [FILE.npz],
// with images (N, 1, H, W) and labels (N); without a file it draws one first.
#include <tapegrad/tapegrad.h>

#include <cmath>
#include <filesystem>

using namespace tapegrad;

// Noisy images of 16 x 16, each with a circle (0), a square (1) or a cross (2).
void draw_shapes(const std::filesystem::path& path, Index count, Random& random) {
  std::vector<double> pixels;
  std::vector<Index> labels;
  for (Index i = 0; i < count; ++i) {
    labels.push_back(random.below(3));
    const double middle_x = random.uniform() * 6 + 5, middle_y = random.uniform() * 6 + 5;
    const double size = random.uniform() * 2 + 2.5;
    for (Index pixel = 0; pixel < 16 * 16; ++pixel) {
      const double dx = std::abs(pixel % 16 - middle_x), dy = std::abs(pixel / 16 - middle_y);
      const double from_line[] = {std::abs(std::hypot(dx, dy) - size),
                                  std::abs(std::max(dx, dy) - size),
                                  std::max(std::min(dx, dy), dx + dy - size)};
      pixels.push_back((from_line[labels.back()] < 0.8) + 0.7 * random.uniform());
    }
  }
  write_npz(path, {{"images", Tensor({count, 1, 16, 16}, pixels)}},
            {{"labels", Indices({count}, labels)}});
}

// Adds to its input what two convolutions make of it.
struct ResidualBlock {
  Sequential inner;

  ResidualBlock(Index channels, Random& random)
      : inner{Conv2d(channels, channels, 3, random, {.padding = 1, .bias = false}),
              Norm("batch", channels, Channels::second), relu,
              Conv2d(channels, channels, 3, random, {.padding = 1, .bias = false}),
              Norm("batch", channels, Channels::second)} {}
  Tensor operator()(const Tensor& x, Mode mode) const { return relu(x + inner(x, mode)); }
  void visit(Fields& field) const { field("inner", inner); }
};

void train_on(const std::filesystem::path& path, Random& random) {
  const Examples all(read_npz(path, "images"), read_npz_indices(path, "labels"));
  const auto [train, test] = random_split(all, 0.8, random);

  const auto global_mean = [](const Tensor& x) { return mean(x, {2, 3}); };
  const Sequential net{Conv2d(1, 16, 3, random, {.stride = 2}), ResidualBlock(16, random),
                       ResidualBlock(16, random), global_mean, Linear(16, 3, random)};
  Adam adam(parameters(net));
  EpochBatches batches(train, 32, 1, [](auto batch, Random& draw) {
    auto& [images, labels] = batch;
    images = flipped(shifted(images, 1, draw), draw);
    return batch;
  });
  for (Index step = 0; step < 8 * batches.per_epoch(); ++step) {
    const auto& [images, labels] = batches.at(step);
    Tape tape;
    const Tensor loss = cross_entropy(net(images, training(random)), labels);
    adam.step(grad(loss, adam.parameters()));
    if (step % 100 == 0) fmt::print("step {:3}: loss {:.4f}\n", step, loss.item());
  }
  const auto& [images, labels] = test.columns();
  fmt::print("{:.1f} % of {} unseen images are named correctly\n",
             100 * accuracy(net(images), labels), test.count());
}

int main(int argc, char** argv) {
  try {
    expect<Error>(argc <= 2, "one argument at most: {} given", argc - 1);
    Random random(1);
    const std::filesystem::path own = std::filesystem::temp_directory_path() / "shapes.npz";
    if (argc == 1) draw_shapes(own, 2000, random);
    train_on(argc > 1 ? argv[1] : own, random);
  } catch (const std::exception& error) {
    fmt::print(stderr, "shapes: {}\n", error.what());
    return 1;
  }
}
