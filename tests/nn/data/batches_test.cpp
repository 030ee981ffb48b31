#include "tapegrad/nn/data/batches.h"

#include <catch2/catch.hpp>
#include <set>

#include "support/restore_threads.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/parallel.h"
#include "tapegrad/nn/data/augment.h"
#include "tapegrad/nn/data/idx.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"

using namespace tapegrad;
using Catch::Contains;

namespace {

std::vector<real> values_of(const Tensor& x) { return {x.values().begin(), x.values().end()}; }

// Images whose pixels all differ.
Tensor numbered(const Shape& shape) { return arange(shape.size()).view(shape); }

}  // namespace

TEST_CASE("batches of several columns keep rows together", "[data]") {
  const Tensor x = numbered({7, 2});
  const Indices y({7}, {0, 1, 2, 3, 4, 5, 6});
  const Examples set(x, y, numbered({7, 1, 3}));
  CHECK(set.count() == 7);
  Random random(1);
  std::set<Index> seen;
  for (const auto& [points, labels, more] : Batches(set, 3, random))
    for (Index i = 0; i < labels.size(); ++i) {
      const Index row = labels.data()[i];
      CHECK(points.data()[2 * i] == static_cast<real>(2 * row));
      CHECK(more.data()[3 * i + 2] == static_cast<real>(3 * row + 2));
      seen.insert(row);
    }
  CHECK(seen.size() == 7);
}

TEST_CASE("rows are those that are chosen", "[data]") {
  const Tensor x = numbered({3, 2});
  CHECK(values_of(take_rows(x, std::vector<Index>{2, 0})) == std::vector<real>{4, 5, 0, 1});
  CHECK(take_rows(x, {}).shape() == Shape{0, 2});
}

TEST_CASE("columns of different lengths are refused", "[data]") {
  CHECK_THROWS_WITH(Examples(zeros({3, 2}), Indices({2}, {0, 1})),
                    Contains("examples: the columns differ in rows: 3 and 2"));
  CHECK_THROWS_WITH(Examples(Tensor(1)), Contains("examples: a scalar has no rows"));
  CHECK_THROWS_WITH(take_rows(zeros({3}), std::vector<Index>{3}),
                    Contains("take_rows: there is no 3 among 3"));
}

TEST_CASE("batches of a training follow from seed and step alone", "[data][threads]") {
  const testing::RestoreThreads restore;
  const Examples set(numbered({10, 1, 2, 2}));
  const auto noise = [](std::tuple<Tensor> batch, Random& random) {
    return std::tuple(noisy(std::get<0>(batch), 0.5, random));
  };
  EpochBatches straight(set, 4, 7, noise);
  CHECK(straight.per_epoch() == 3);
  std::vector<std::vector<real>> all;
  for (Index step = 0; step < 9; ++step) all.push_back(values_of(std::get<0>(straight.at(step))));
  CHECK(std::set(all.begin(), all.end()).size() == 9);
  CHECK(all[2].size() == 8);  // the last of an epoch is smaller
  for (const int threads : {1, 3}) {
    set_threads(threads);
    for (const Index step : {4, 5, 5, 6, 0, 8, 3}) {
      EpochBatches resumed(set, 4, 7, noise);
      CHECK(values_of(std::get<0>(resumed.at(step))) == all[static_cast<std::size_t>(step)]);
      CHECK(values_of(std::get<0>(straight.at(step))) == all[static_cast<std::size_t>(step)]);
    }
  }
  CHECK_THROWS_WITH(straight.at(-1), Contains("batches: step must not be negative: -1"));
  CHECK(values_of(std::get<0>(straight.at(0))) == all[0]);
}

TEST_CASE("every step has noise of its own", "[data]") {
  const Examples set(zeros({4, 1}));
  EpochBatches batches(set, 2, 1, [](std::tuple<Tensor> batch, Random& random) {
    return std::tuple(noisy(std::get<0>(batch), 1, random));
  });
  std::set<std::vector<real>> seen;
  for (Index step = 0; step < 6; ++step) seen.insert(values_of(std::get<0>(batches.at(step))));
  CHECK(seen.size() == 6);
}

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

TEST_CASE("what a transform throws reaches the training", "[data]") {
  const Examples set(zeros({4, 1}));
  EpochBatches batches(set, 2, 1, [](std::tuple<Tensor> batch, Random&) {
    throw DataError("no");
    return batch;
  });
  CHECK_THROWS_AS(batches.at(0), DataError);
  CHECK_THROWS_AS(batches.at(1), DataError);
}

TEST_CASE("images are shifted by up to so many pixels, with zeros behind them", "[data]") {
  const Tensor images = numbered({200, 1, 3, 3}) + 1;
  Random random(1);
  const Tensor moved = shifted(images, 1, random);
  std::set<std::pair<Index, Index>> seen;
  for (Index image = 0; image < 200; ++image) {
    // Where the middle of the image has gone says how far it has moved.
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
  CHECK_THROWS_WITH(shifted(images, 3, random), Contains("shifted: must be at least 0"));
  CHECK_THROWS_WITH(shifted(zeros({3, 3}), 1, random), Contains("images are (N, C, H, W): (3, 3)"));
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
                    Contains("cropped: 3 x 2 do not fit into (300, 1, 2, 3) with a padding of 0"));
}
