#pragma once

#include <functional>
#include <string>
#include <thread>

#include "tapegrad/tapegrad.h"

/// What can be switched in the library; TAPEGRAD_TARGET chooses the instruction set.
struct Switches {
  int threads;
  bool fused, reuse;

  std::string apply() const {
    tapegrad::set_threads(threads);
    return tapegrad::instruction_set();
  }
  // Memory is reused by the thread that has requested it. If each step has a thread of its own, all
  // that the step has requested goes back to the system when it ends.
  void run(const std::function<void()>& step) const {
    const auto switched = [&] {
      const tapegrad::Composite form(!fused);
      step();
    };
    if (reuse)
      switched();
    else
      std::thread(switched).join();
  }
};
