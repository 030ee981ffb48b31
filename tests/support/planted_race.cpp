// A race between tiles, on purpose: the thread sanitizer must find it.

#include "tapegrad/core/parallel.h"

int main() {
  tapegrad::set_threads(2);
  long total = 0;
  tapegrad::parallel_for(1000, [&](tapegrad::Index tile) { total += tile; });
  return total == 499'500 ? 0 : 1;
}
