#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include "tapegrad_mini.h"

/// The engine of one header, which has nothing to switch.
struct Switches {
  int threads;
  bool fused, reuse;

  std::string apply() const {
    if (threads != 1 || fused || reuse) throw std::invalid_argument("story: nothing to switch");
    return "none";
  }
  void run(const std::function<void()>& step) const { step(); }
};
