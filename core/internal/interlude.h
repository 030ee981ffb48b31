#pragma once

#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// While in scope, the tape records in order to forget: at the end, nodes and leaves that were
/// entered meanwhile are gone, and tensors that were recorded meanwhile are refused. What
/// `recompute` rests on.
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
