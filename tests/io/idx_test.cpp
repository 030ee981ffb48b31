#include "tapegrad/io/idx.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>

#include "support/files.h"
#include "support/scratch.h"
#include "tapegrad/core/error.h"
#include "tapegrad/io/file.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

const Bytes two_images = bytes_of({0, 0,  8,   3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3,  //
                                   0, 51, 255, 0, 0, 0, 1, 2, 3, 4, 5, 6});
const Bytes two_labels = bytes_of({0, 0, 8, 1, 0, 0, 0, 2, 7, 3});

}  // namespace

TEST_CASE("IDX files are read, plain and gzipped", "[files]") {
  const Scratch folder;
  write_file(folder / "images", two_images);
  write_file(folder / "labels.gz", gzipped(two_labels));
  const ImageSet set = read_idx(folder / "images", folder / "labels.gz");
  CHECK(set.count() == 2);
  const Index chosen[] = {1, 0};
  const Tensor images = set.images(chosen);
  CHECK(images.shape() == Shape{2, 1, 2, 3});
  CHECK(images.data()[7] == Approx(0.2));
  CHECK(set.labels_of(chosen).data()[0] == 3);
  for (const Index none : {-1, 2}) {
    CHECK_THROWS_AS(set.images(std::span(&none, 1)), ShapeError);
    CHECK_THROWS_AS(set.labels_of(std::span(&none, 1)), ShapeError);
  }
  const ImageSet unlabelled = read_idx(folder / "images");
  CHECK(unlabelled.pixels == set.pixels);
  CHECK(unlabelled.labels == std::vector<std::uint8_t>{0, 0});
  ImageSet without_pixels = set;
  without_pixels.pixels.pop_back();
  CHECK_THROWS_AS(without_pixels.images(chosen), ShapeError);
}

TEST_CASE("damaged IDX files are refused at every byte", "[files]") {
  const Scratch folder;
  write_file(folder / "labels", two_labels);
  const auto refused = [&](const Bytes& images) {
    write_file(folder / "images", images);
    CHECK_THROWS_AS(read_idx(folder / "images", folder / "labels"), DataError);
  };
  for (std::size_t length = 0; length < two_images.size(); ++length)
    refused(first(two_images, length));
  for (std::size_t at = 0; at < 16; ++at) {  // every byte of the header counts
    Bytes flipped = two_images;
    flipped[at] ^= std::byte{0x81};
    refused(flipped);
  }
  Bytes longer = two_images;
  longer.push_back(std::byte{0});
  refused(longer);
  CHECK_THROWS_WITH(read_idx(folder / "none", folder / "labels"), Contains("none"));
  CHECK_THROWS_WITH(read_idx(folder / "labels", folder / "labels"), Contains("byte"));
  CHECK_THROWS_WITH(read_mnist(folder.path), Contains("train-images-idx3-ubyte.gz"));
}

TEST_CASE("MNIST is as published", "[files]") {
  const char* data = std::getenv("TAPEGRAD_DATA");
  if (data == nullptr) {
    WARN("skipped: TAPEGRAD_DATA is not set, MNIST was not read");
    return;
  }
  const TrainAndTest mnist = read_mnist(fs::path(data) / "mnist");
  CHECK(mnist.train.count() == 60'000);
  CHECK(mnist.test.count() == 10'000);
  std::map<int, int> counts;
  for (const std::uint8_t label : mnist.train.labels) ++counts[label];
  const int expected[] = {5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949};
  for (int digit = 0; digit < 10; ++digit) CHECK(counts[digit] == expected[digit]);
  double total = 0;
  for (const std::uint8_t pixel : mnist.train.pixels) total += pixel;
  CHECK(total / 255 / static_cast<double>(mnist.train.pixels.size()) ==
        Approx(0.1307).margin(5e-5));
}
