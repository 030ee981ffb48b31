#pragma once

#include "tapegrad/core/machine/parallel.h"

namespace tapegrad::testing {

/// Puts the number of threads back at the end of a test.
struct RestoreThreads {
  int count = threads();
  ~RestoreThreads() { set_threads(count); }
};

}  // namespace tapegrad::testing
