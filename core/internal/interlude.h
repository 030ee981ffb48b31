#pragma once

#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// While in scope, the tape records temporarily. At the end it drops the nodes and leaves entered
/// meanwhile, and from then on refuses the tensors recorded meanwhile. `recompute` is built on it.
class Interlude {
 public:
  explicit Interlude(Tape& tape);
  ~Interlude();
  Interlude(const Interlude&) = delete;
  Interlude& operator=(const Interlude&) = delete;

 private:
  Tape& tape_;
  std::int32_t size_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
