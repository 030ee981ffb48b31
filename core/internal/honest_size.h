#pragma once

#include <algorithm>
#include <cstddef>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The most bytes that a packed file may unpack to: 256 MiB, or 100 times its own. Deflate packs up
/// to 1032 bytes into one; real data rarely exceed 20.
constexpr std::size_t honest_size(std::size_t packed_bytes) {
  return std::max(std::size_t{256} << 20, 100 * packed_bytes);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
