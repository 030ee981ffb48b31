#pragma once

#include <cstdint>

// The library is built twice from one source: `tapegrad` in single precision, and `tapegrad64` in
// double precision, which makes gradient checks sharp. Each has its own inline namespace, so a
// program may use both, and one compiled against the wrong headers does not link.
#ifdef TAPEGRAD_DOUBLE
#define TAPEGRAD_SCALAR inline float64
#else
#define TAPEGRAD_SCALAR inline float32
#endif

namespace tapegrad::TAPEGRAD_SCALAR {

/// The scalar type of every tensor.
#ifdef TAPEGRAD_DOUBLE
/// Example: `std::vector<real> values(x.values().begin(), x.values().end())`
using real = double;
#else
using real = float;
#endif

/// An extent, a position, a label or a token id.
/// Example: `const Index rows = x.shape()[0]`
using Index = std::int64_t;

}  // namespace tapegrad::TAPEGRAD_SCALAR
