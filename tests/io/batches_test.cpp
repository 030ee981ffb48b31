#include "tapegrad/io/batches.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <type_traits>

#include "support/restore_threads.h"
#include "support/values.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/io/augment.h"
#include "tapegrad/io/idx.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

TEST_CASE("batches cover a set once, in an order that the seed gives", "[files][threads]") {
  ImageSet set{1, 1, {}, {}};
  for (int i = 0; i < 103; ++i) {
    set.pixels.push_back(static_cast<std::uint8_t>(i));
    set.labels.push_back(static_cast<std::uint8_t>(i));
  }
  const auto pass = [&](std::uint64_t seed, Index first) {
    Random random(seed);
    std::vector<Index> seen;
    for (const auto& [images, labels] : Batches(set, 10, random, first))
      for (Index i = 0; i < labels.size(); ++i) {
        CHECK(images.data()[i] == Approx(static_cast<double>(labels.data()[i]) / 255));
        seen.push_back(labels.data()[i]);
      }
    return seen;
  };
  const auto all = pass(1, 0);
  CHECK(std::set<Index>(all.begin(), all.end()).size() == 103);
  CHECK(pass(1, 0) == all);
  CHECK(pass(2, 0) != all);
  CHECK(pass(1, 4) == std::vector<Index>(all.begin() + 40, all.end()));
  CHECK(pass(1, 11).empty());
  CHECK_THROWS_AS(pass(1, -1), ArgumentError);
  Index in_order = 0;
  for (const auto& batch : Batches(set, 50)) CHECK(batch.labels.data()[0] == 50 * in_order++);
  CHECK(in_order == 3);
  for (const auto& batch : Batches(set, 10)) {  // leaving early is fine
    CHECK(batch.labels.size() == 10);
    break;
  }
}

TEST_CASE("a pass of batches takes the memory of those in flight", "[files][memory]") {
  const ImageSet set{28, 28, std::vector<std::uint8_t>(784 * 600), std::vector<std::uint8_t>(600)};
  const std::int64_t before = memory_use().allocations;
  Index seen = 0;
  for (const auto& [images, labels] : Batches(set, 10)) seen += labels.size();
  CHECK(seen == 600);
  // In flight are four batches, of images and labels each: the one in use, the one that replaces
  // it, the one that is ready and the one in preparation; and the order. New memory for each batch
  // would be 120 allocations.
  CHECK(memory_use().allocations - before <= 2 * 4 + 1);
}

TEST_CASE("what goes wrong in the background reaches the loop", "[files][threads]") {
  // More labels than pixels: an image of this size cannot be allocated.
  const ImageSet set{Index{1} << 30, Index{1} << 30, {}, std::vector<std::uint8_t>(4)};
  const auto walk = [&] {
    for (const auto& batch : Batches(set, 2)) CHECK(batch.labels.size() < 0);
  };
  CHECK_THROWS_AS(walk(), ShapeError);
}

TEST_CASE("batches of a run follow from seed and step alone", "[data][threads]") {
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
  CHECK((straight.rows(0) == 4 && straight.rows(2) == 2 && straight.rows(3) == 4));
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

TEST_CASE("what a transform throws reaches the run", "[data]") {
  const Examples set(zeros({4, 1}));
  EpochBatches batches(set, 2, 1, [](std::tuple<Tensor> batch, Random&) {
    throw DataError("no");
    return batch;
  });
  CHECK_THROWS_AS(batches.at(0), DataError);
  CHECK_THROWS_AS(batches.at(1), DataError);
}

TEST_CASE("batches of pairs hold each once, and as many as fit", "[data]") {
  Random random(4);
  std::vector<ExampleLengths> lengths;
  for (Index i = 0; i < 200; ++i) lengths.push_back({1 + random.below(12), 1 + random.below(20)});
  lengths.push_back({30, 1});  // too long for a batch
  constexpr Index tokens = 24;
  for (Random* order : {static_cast<Random*>(nullptr), &random}) {
    std::vector<std::vector<Index>> batches = batches_by_length(lengths, tokens, order);
    std::multiset<Index> seen;
    for (const auto& batch : batches) {
      Index longest = 0;
      for (const Index i : batch)
        longest = std::max({longest, lengths[static_cast<std::size_t>(i)][0],
                            lengths[static_cast<std::size_t>(i)][1]});
      CHECK((static_cast<Index>(batch.size()) * longest <= tokens || batch.size() == 1));
      seen.insert(batch.begin(), batch.end());
    }
    CHECK(seen.size() == lengths.size());
    CHECK(std::set(seen.begin(), seen.end()).size() == lengths.size());
    const auto by_lengths = [&](Index a, Index b) {
      return lengths[static_cast<std::size_t>(a)] < lengths[static_cast<std::size_t>(b)];
    };
    CHECK(std::all_of(batches.begin(), batches.end(), [&](const auto& batch) {
      return std::is_sorted(batch.begin(), batch.end(), by_lengths);
    }));
    const bool sorted = std::is_sorted(
        batches.begin(), batches.end(),
        [&](const auto& a, const auto& b) { return by_lengths(a.front(), b.front()); });
    CHECK(sorted == (order == nullptr));
  }
  CHECK(batches_by_length({{2, 3}, {2, 2}, {1, 3}, {4, 1}}, 6) ==
        std::vector<std::vector<Index>>{{2, 1}, {0}, {3}});
  CHECK(batches_by_length({{1, 6}, {2, 1}, {2, 1}, {2, 1}}, 6) ==
        std::vector<std::vector<Index>>{{0}, {1, 2, 3}});
  CHECK(batches_by_length({}, 6).empty());
  CHECK_THROWS_WITH(batches_by_length({{1, 1}}, 0), Contains("tokens must be at least 1: 0"));
}

TEST_CASE("batches of a temporary set do not compile", "[files]") {
  using Set = Examples<Tensor>;
  static_assert(std::is_constructible_v<Batches<Set>, const Set&, Index>);
  static_assert(std::is_constructible_v<Batches<Set>, Set&, Index, Random&>);
  static_assert(std::is_constructible_v<EpochBatches<Set>, const Set&, Index, std::uint64_t>);
  static_assert(!std::is_constructible_v<Batches<Set>, Set, Index>);
  static_assert(!std::is_constructible_v<Batches<Set>, const Set, Index, Random&>);
  static_assert(!std::is_constructible_v<EpochBatches<Set>, Set, Index, std::uint64_t>);
  SUCCEED();
}
