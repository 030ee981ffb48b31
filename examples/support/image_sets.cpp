#include "support/image_sets.h"

#include <algorithm>

#include "support/data_files.h"
#include "support/digits.h"
#include "tapegrad/core/error.h"
#include "tapegrad/io/batches.h"
#include "tapegrad/nn/functions/loss.h"
#include "tapegrad/nn/metrics.h"
#include "tapegrad/ops/reduce.h"
#include "tapegrad/train/resume.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

// Moves the images from `first` on to a new set.
ImageSet split_off(ImageSet& set, Index first) {
  const auto pixel = set.pixels.begin() + first * set.height * set.width;
  const auto label = set.labels.begin() + first;
  ImageSet rest{set.height, set.width, {pixel, set.pixels.end()}, {label, set.labels.end()}};
  set.pixels.erase(pixel, set.pixels.end());
  set.labels.erase(label, set.labels.end());
  return rest;
}

ImageSet draw(Index count, Random random) {
  ImageSet set{digit_side, digit_side, {}, {}};
  for (Index i = 0; i < count; ++i) {
    const auto digit = static_cast<std::uint8_t>(random.below(10));
    const auto pixels = draw_digit(digit, random);
    set.pixels.insert(set.pixels.end(), pixels.begin(), pixels.end());
    set.labels.push_back(digit);
  }
  return set;
}

}  // namespace

std::string ImageSets::digest() const {
  Digest digest;
  for (const ImageSet* set : {&train, &validation}) {
    digest.add(set->pixels.data(), set->pixels.size());
    digest.add(set->labels.data(), set->labels.size());
  }
  return fmt::format("{} images of {} x {}, {}", train.count() + validation.count(), train.height,
                     train.width, digest.to_string());
}

std::string ImageSets::test_digest() const {
  Digest digest;
  digest.add(test.pixels.data(), test.pixels.size());
  digest.add(test.labels.data(), test.labels.size());
  return digest.to_string();
}

ImageSets read_image_sets(const std::string& directory) {
  const auto folder = find_data_file(directory, "mnist", "train-images-idx3-ubyte").parent_path();
  auto [train, test] = read_mnist(folder);
  expect<DataError>(
      train.count() >= 12 && test.count() > 0,
      "{}: too few images: {} for training and {} for the test; needs at least 12 and 1", directory,
      train.count(), test.count());
  const Index classes = 1 + *std::max_element(train.labels.begin(), train.labels.end());
  const Index greatest = *std::max_element(test.labels.begin(), test.labels.end());
  expect<DataError>(greatest < classes,
                    "{}: the t10k files have label {}, but the training files none above {}",
                    directory, greatest, classes - 1);
  ImageSet validation = split_off(train, train.count() - train.count() / 12);
  return {directory, std::move(train), std::move(validation), std::move(test), classes};
}

ImageSets draw_image_sets(std::uint64_t seed) {
  const Random random(seed);
  return {"digits drawn by this program", draw(11000, random.stream(1)),
          draw(1000, random.stream(2)), draw(2000, random.stream(3)), 10};
}

ImageSets read_binary_image_sets(const std::string& directory) {
  const auto read = [&](const char* part) {
    const std::filesystem::path path =
        find_data_file(directory, "mnist-binarized", fmt::format("{}-images-idx3-ubyte", part));
    ImageSet set = read_idx(path);
    const auto grey = std::find_if(set.pixels.begin(), set.pixels.end(),
                                   [](std::uint8_t pixel) { return pixel != 0 && pixel != 255; });
    expect<DataError>(grey == set.pixels.end(), "{}: pixel {} is {}, neither 0 nor 255",
                      path.string(), grey - set.pixels.begin(),
                      grey == set.pixels.end() ? 0 : *grey);
    return set;
  };
  ImageSets sets{directory, read("train"), read("valid"), read("test"), 1};
  for (const ImageSet* set : {&sets.validation, &sets.test})
    expect<DataError>(set->height == sets.train.height && set->width == sets.train.width,
                      "{}: images of {} x {} for training, but others of {} x {}", directory,
                      sets.train.height, sets.train.width, set->height, set->width);
  return sets;
}

ImageSets draw_binary_image_sets(std::uint64_t seed) {
  ImageSets sets = draw_image_sets(seed);
  for (ImageSet* set : {&sets.train, &sets.validation, &sets.test})
    for (std::uint8_t& pixel : set->pixels) pixel = pixel < 128 ? 0 : 255;
  return sets;
}

ImageSet first_images(const ImageSet& set, Index count) {
  if (count == 0 || count >= set.count()) return set;
  const auto pixels = set.pixels.begin();
  const auto labels = set.labels.begin();
  return {set.height,
          set.width,
          {pixels, pixels + count * set.height * set.width},
          {labels, labels + count}};
}

double mean_cross_entropy(const Layer& net, const ImageSet& set) {
  RunningMean loss;
  for (const auto& [images, labels] : Batches(set, 500))
    loss.add(cross_entropy(net(images), labels).item(), labels.size());
  return loss.value();
}

std::vector<double> misclassified(const Layer& net, const ImageSet& set) {
  std::vector<double> wrong;
  for (const auto& [images, labels] : Batches(set, 500)) {
    const Indices guesses = argmax(net(images));
    for (Index i = 0; i < labels.size(); ++i)
      wrong.push_back(guesses.data()[i] != labels.data()[i] ? 1 : 0);
  }
  return wrong;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
