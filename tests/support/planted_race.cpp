// A race between tiles, on purpose: the thread sanitizer must find it.

#include <chrono>
#include <thread>

#include "tapegrad/core/machine/parallel.h"

int main() {
  tapegrad::set_threads(2);
  long total = 0;
  tapegrad::parallel_for(50, [&](tapegrad::Index tile) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // long enough for both threads
    total += tile;
  });
  return total == 1225 ? 0 : 1;
}
