#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// While in scope, fused operations compute their definitions on this thread; or do not, if
/// `readable` is false.
class Composite {
 public:
  explicit Composite(bool readable = true);
  ~Composite();
  Composite(const Composite&) = delete;
  Composite& operator=(const Composite&) = delete;
  static bool active();

 private:
  bool outer_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
