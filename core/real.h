#pragma once

#include <cstdint>

namespace tapegrad {

/// The scalar type of every tensor. The library is built twice from one source: `tapegrad` in
/// single precision and `tapegrad64` in double, in which gradient checks are sharp.
#ifdef TAPEGRAD_DOUBLE
using real = double;
#else
using real = float;
#endif

/// An extent, a position, a label or a token id.
using Index = std::int64_t;

}  // namespace tapegrad
