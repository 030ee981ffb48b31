#pragma once

#include <type_traits>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// How many threads operations may use: unless set, the number of processors that the process may
/// run on when it starts. Results do not depend on it, bit for bit.
int threads();
/// Throws ArgumentError unless count is at least 1. Not to be called while operations run.
void set_threads(int count);

namespace detail {
void run_tiles(Index tiles, void (*run)(const void* body, Index tile), const void* body);
}

/// Calls body(tile) for every tile in [0, tiles), possibly at the same time on several threads.
/// Unless no bit depends on it, the number of tiles must follow from shapes only, never from the
/// number of threads, and what is summed over tiles must be summed in a fixed order: then results
/// are the same for any number.
template <class Body>
void parallel_for(Index tiles, const Body& body) {
  if (tiles == 1) return body(Index{0});
  if (tiles > 1)
    detail::run_tiles(
        tiles, [](const void* b, Index tile) { (*static_cast<const Body*>(b))(tile); }, &body);
}

/// Calls body(begin, end) for consecutive ranges of at most `grain` items that cover [0, count).
template <class Body>
void parallel_ranges(Index count, Index grain, const Body& body) {
  parallel_for((count + grain - 1) / grain, [&](Index tile) {
    const Index begin = tile * grain;
    body(begin, begin + grain < count ? begin + grain : count);
  });
}

/// Elements that are worth a task of their own in passes over memory.
constexpr Index elements_per_tile = 16384;

}  // namespace tapegrad::TAPEGRAD_SCALAR
