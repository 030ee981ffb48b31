#pragma once

#include "tapegrad/core/internal/storage.h"
#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// Temporary memory for `count` numbers, from the thread's free list.
class Scratch {
 public:
  explicit Scratch(Index count)
      : storage_(Storage::allocate(sizeof(real) * static_cast<std::size_t>(count))) {}
  real* data() const { return static_cast<real*>(storage_.data()); }

 private:
  Storage storage_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
