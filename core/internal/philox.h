#pragma once

#include <cstdint>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Blocks first, first + 1, ... of Philox4x32-10 with a seed as key (Salmon et al., Parallel Random
/// Numbers: As Easy as 1, 2, 3, SC 2011), four words each.
void philox(std::uint64_t seed, std::uint64_t first, Index blocks, std::uint32_t* words);

/// Independent yes-or-no choices with one probability. Any part can be read again in any order:
/// each choice is a word of Philox, so none need be stored.
class Choices {
 public:
  /// Begins at block `start` of the seed's stream.
  Choices(std::uint64_t seed, std::uint64_t start, double probability);
  /// out = `yes` where choice first, first + 1, ... is yes, otherwise 0.
  void read(Index first, Index count, real yes, real* out) const;

 private:
  std::uint64_t seed_, start_;
  std::int64_t yes_words_;  // of all 2^32 words
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
