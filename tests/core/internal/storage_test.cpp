#include "tapegrad/core/internal/storage.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

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
