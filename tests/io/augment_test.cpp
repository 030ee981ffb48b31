#include "tapegrad/io/augment.h"

#include <catch2/catch.hpp>
#include <set>

#include "support/values.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/range.h"
#include "tapegrad/io/batches.h"
#include "tapegrad/io/idx.h"
#include "tapegrad/ops/elementwise.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

TEST_CASE("images are augmented as they are taken", "[data]") {
  const ImageSet images{3, 3, std::vector<std::uint8_t>(90, 255), std::vector<std::uint8_t>(10)};
  const std::uint64_t seed = 1;
  EpochBatches batches(images, 64, seed, [](Batch batch, Random& random) {
    batch.images = flipped(shifted(batch.images, 2, random), random);
    return batch;
  });
  const Batch& batch = batches.at(0);
  CHECK(batch.images.shape() == Shape{10, 1, 3, 3});
  CHECK(range(batch.images).least == 0);
}

TEST_CASE("images are shifted by up to so many pixels, with zeros behind them", "[data]") {
  const Tensor images = numbered({200, 1, 3, 3}) + 1;
  Random random(1);
  const Tensor moved = shifted(images, 1, random);
  std::set<std::pair<Index, Index>> seen;
  for (Index image = 0; image < 200; ++image) {
    // The new place of the image's middle shows how far it has moved.
    const auto at = [&](const Tensor& x, Index row, Index column) {
      return x.data()[(image * 3 + row) * 3 + column];
    };
    for (Index down = -1; down <= 1; ++down)
      for (Index right = -1; right <= 1; ++right) {
        if (at(moved, 1 + down, 1 + right) != at(images, 1, 1)) continue;
        seen.emplace(down, right);
        for (Index row = 0; row < 3; ++row)
          for (Index column = 0; column < 3; ++column) {
            const Index r = row - down, c = column - right;
            const bool inside = 0 <= r && r < 3 && 0 <= c && c < 3;
            CHECK(at(moved, row, column) == (inside ? at(images, r, c) : 0));
          }
      }
  }
  CHECK(seen.size() == 9);
  CHECK(values_of(shifted(images, 0, random)) == values_of(images));
  CHECK_THROWS_WITH(shifted(images, 3, random), Contains("shifted: the shift must be at least 0"));
  CHECK_THROWS_WITH(shifted(zeros({3, 3}), 1, random),
                    Contains("images must be (N, C, H, W): (3, 3)"));
}

TEST_CASE("flips mirror whole images left to right", "[data]") {
  const Tensor images = numbered({100, 2, 1, 3});
  Random random(1);
  const Tensor mirrored = flipped(images, random, 1);
  for (Index row = 0; row < 200; ++row)
    for (Index i = 0; i < 3; ++i)
      CHECK(mirrored.data()[3 * row + i] == images.data()[3 * row + 2 - i]);
  CHECK(values_of(flipped(images, random, 0)) == values_of(images));
  const Tensor some = flipped(images, random);
  Index changed = 0;
  for (Index image = 0; image < 100; ++image) {
    const bool first = some.data()[6 * image] != images.data()[6 * image];
    CHECK(first == (some.data()[6 * image + 3] != images.data()[6 * image + 3]));
    changed += first;
  }
  CHECK((30 < changed && changed < 70));
  CHECK_THROWS_AS(flipped(images, random, 1.5), ArgumentError);
}

TEST_CASE("crops come from anywhere in the frame", "[data]") {
  const Tensor images = numbered({300, 1, 2, 3}) + 1;
  Random random(1);
  std::set<real> corners;
  const Tensor parts = cropped(images, 1, 2, random);
  CHECK(parts.shape() == Shape{300, 1, 1, 2});
  for (Index image = 0; image < 300; ++image) {
    const real corner = parts.data()[2 * image];
    CHECK(parts.data()[2 * image + 1] == corner + 1);
    corners.insert(corner - static_cast<real>(6 * image));
  }
  CHECK(corners == std::set<real>{1, 2, 4, 5});
  // A frame wider than the image: some parts are all zeros.
  const Tensor far = cropped(images, 1, 1, random, 5);
  Index empty = 0;
  for (const real value : far.values()) empty += value == 0;
  CHECK(empty > 150);
  CHECK(empty < 300);
  CHECK_THROWS_WITH(cropped(images, 3, 2, random),
                    Contains("cropped: 3 x 2 does not fit into (300, 1, 2, 3) with padding 0"));
}
