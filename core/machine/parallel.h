#pragma once

#include <type_traits>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// How many threads operations may use: by default as many as there are processors that the process
/// may use (taskset, mpirun or a container's quota limit them). Results are the same for any
/// number, bit for bit.
/// Example: `fmt::print("{} threads\n", threads())`
int threads();
/// Throws ArgumentError unless count is at least 1. Where the system starts fewer, operations use
/// those, and `threads` returns how many. Do not call it while operations run.
/// Example: `set_threads(2)`
void set_threads(int count);

namespace detail {
void run_tiles(Index tiles, void (*run)(const void* body, Index tile), const void* body);
}

/// Calls body(tile) for every tile in [0, tiles), possibly concurrently on several threads. If
/// tiling changes rounding, derive it from shapes only, never from the number of threads, and sum
/// over tiles in a fixed order. Results are then the same for any number of threads.
/// Example: `std::vector<int> seen(10); parallel_for(10, [&](Index i) { seen[i] = 1; })`
template <class Body>
void parallel_for(Index tiles, const Body& body) {
  if (tiles == 1) return body(Index{0});
  if (tiles > 1)
    detail::run_tiles(
        tiles, [](const void* b, Index tile) { (*static_cast<const Body*>(b))(tile); }, &body);
}

/// Calls body(begin, end) for consecutive ranges of at most `grain` items that cover [0, count).
/// Example: `parallel_ranges(100, 16, [](Index begin, Index end) { assert(begin < end); })`
template <class Body>
void parallel_ranges(Index count, Index grain, const Body& body) {
  parallel_for((count + grain - 1) / grain, [&](Index tile) {
    const Index begin = tile * grain;
    body(begin, begin + grain < count ? begin + grain : count);
  });
}

/// The number of elements that make a task worthwhile in passes over memory.
constexpr Index elements_per_tile = 16384;

}  // namespace tapegrad::TAPEGRAD_SCALAR
