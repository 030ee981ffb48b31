#include "tapegrad/core/internal/storage.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "tapegrad/core/tape.h"
#include "tapegrad/core/tensor.h"
#include "tapegrad/ops/elementwise.h"

using namespace tapegrad;

TEST_CASE("a block freed on another thread returns to where it came from", "[memory][threads]") {
  Tensor x = ones({1 << 20});
  std::thread([y = std::move(x)]() mutable { y = Tensor(); }).join();
  const std::int64_t before = memory_use().allocations;
  const Tensor again = ones({1 << 20});
  CHECK(memory_use().allocations == before);
}

TEST_CASE("a block outlives the thread that made it", "[memory][threads]") {
  Tensor x;
  std::thread([&] { x = full({1000}, 7); }).join();
  CHECK(x.values()[999] == 7);
}

TEST_CASE("a thread that ends frees the blocks that are given back meanwhile",
          "[memory][threads]") {
  const std::int64_t before = memory_use().bytes;
  for (int round = 0; round < 1000; ++round) {
    std::vector<Storage> blocks(1000);
    std::atomic<bool> made = false;
    std::thread maker([&] {
      for (Storage& each : blocks) each = Storage::allocate(64);
      made = true;
    });
    while (!made) std::this_thread::yield();  // a sleep could outlast the thread
    blocks.clear();
    maker.join();
  }
  CHECK(memory_use().bytes == before);
}

namespace {

// What a step of `size` takes and gives back: blocks of four sizes, some of them small.
void take_and_give_back(std::size_t size) {
  std::vector<Storage> blocks;
  for (int i = 0; i < 10; ++i) {
    blocks.push_back(Storage::allocate(size));
    blocks.push_back(Storage::allocate(2 * size));
    blocks.push_back(Storage::allocate(size / 10));
    blocks.push_back(Storage::allocate(size / 100));
  }
}

// The most bytes that a thread of its own holds during steps of these sizes.
std::int64_t most_held(const std::vector<std::size_t>& sizes) {
  std::int64_t most = 0;
  std::thread([&] {
    const std::int64_t before = memory_use().bytes;
    for (const std::size_t size : sizes) {
      const Tape tape;
      take_and_give_back(size);
      most = std::max(most, memory_use().bytes - before);
    }
  }).join();
  return most;
}

}  // namespace

TEST_CASE("steps of many sizes hold little more than the largest of them", "[memory]") {
  constexpr std::size_t largest = 1'000'000;
  std::vector<std::size_t> sizes;
  for (std::size_t i = 1; i <= 50; ++i) sizes.push_back(i * 37 % 50 * largest / 50 + 1000);
  const std::int64_t alone = most_held({largest});
  CHECK(4 * most_held(sizes) <= 5 * alone);
}

TEST_CASE("steps of one size request nothing after the first, whatever they use at which time",
          "[memory]") {
  std::thread([] {
    std::int64_t before = 0;
    for (int step = 0; step < 20; ++step) {
      if (step == 1) before = memory_use().allocations;
      const Tape tape;
      take_and_give_back(100'000);
      take_and_give_back(300'000);
    }
    CHECK(memory_use().allocations == before);
  }).join();
}

TEST_CASE("what a large step held goes back when only small ones follow", "[memory]") {
  std::thread([] {
    const std::int64_t before = memory_use().bytes;
    take_and_give_back(1'000'000);
    const std::int64_t large = memory_use().bytes - before;
    for (int step = 0; step < 2000; ++step) {
      const Tape tape;
      take_and_give_back(1000);
    }
    CHECK(memory_use().bytes - before < large / 100);
  }).join();
}
