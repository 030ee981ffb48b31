#include "tapegrad/core/internal/storage.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <thread>
#include <vector>

#include "tapegrad/core/tape.h"
#include "tapegrad/core/tensor.h"
#include "tapegrad/ops/elementwise.h"

using namespace tapegrad;

// Null without the address sanitizer.
extern "C" int __asan_address_is_poisoned(const volatile void* address) __attribute__((weak));

TEST_CASE("the address sanitizer guards what follows a block", "[memory]") {
  if (__asan_address_is_poisoned == nullptr) return;
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{100'000}, std::size_t{10} << 20}) {
    const Storage block = Storage::allocate(bytes);
    const auto* end = static_cast<const std::byte*>(block.data()) + block.capacity();
    CHECK(!__asan_address_is_poisoned(end - 1));
    CHECK(__asan_address_is_poisoned(end));
  }
}

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
std::int64_t most_held(const std::vector<std::size_t>& sizes,
                       const std::function<void(std::size_t)>& take_step) {
  std::int64_t most = 0;
  std::thread([&] {
    const std::int64_t before = memory_use().bytes;
    for (const std::size_t size : sizes) {
      take_step(size);
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
  std::vector<Storage> kept;
  std::function<void(std::size_t)> take_step;
  SECTION("where a tape ends") {
    take_step = [&](std::size_t size) {
      const Tape tape;
      take_and_give_back(size);
      kept.push_back(Storage::allocate(64));
    };
  }
  SECTION("where all that was taken is given back") { take_step = take_and_give_back; }
  const std::int64_t alone = most_held({largest}, take_step);
  CHECK(8 * most_held(sizes, take_step) <= 9 * alone);
}

TEST_CASE("steps of one size request nothing after the first, whatever they use at which time",
          "[memory]") {
  std::function<void()> take_step;
  SECTION("with a tape") {
    take_step = [] {
      const Tape tape;
      const Tensor recorded = watch(ones({1}));
      take_and_give_back(100'000);
      take_and_give_back(300'000);
    };
  }
  SECTION("as kernels on other threads") {
    take_step = [] {
      take_and_give_back(10'000);
      take_and_give_back(30'000);
    };
  }
  std::thread([&] {
    take_step();
    const std::int64_t before = memory_use().allocations;
    for (int step = 0; step < 20; ++step) take_step();
    CHECK(memory_use().allocations == before);
  }).join();
}

TEST_CASE("steps of one size request nothing, while what an earlier step needed goes back",
          "[memory]") {
  std::thread([] {
    const auto others = memory_use().bytes;  // what the tests before keep
    const auto take_step = [] {
      const Tape tape;
      take_and_give_back(50'000);
    };
    {
      std::vector<Storage> small;
      for (int i = 0; i < 30'000; ++i) small.push_back(Storage::allocate(64));
    }
    take_step();
    const MemoryUse before = memory_use();
    for (int step = 0; step < 2000; ++step) take_step();
    CHECK(memory_use().allocations == before.allocations);
    CHECK(memory_use().bytes - others < 0.75 * (before.bytes - others));
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
