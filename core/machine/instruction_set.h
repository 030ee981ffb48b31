#pragma once

#include <string>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The instruction set that operations use: "avx512", "avx2" or "sse2" on x86-64, "neon" on ARM. It
/// is the best that the processor supports, unless the environment variable TAPEGRAD_TARGET, read
/// once before the first operation, names another. The last digits of results depend on it. Throws
/// Error if the processor does not support TAPEGRAD_TARGET; so does the first operation.
/// Example: `fmt::print("{}\n", instruction_set())`
const std::string& instruction_set();

namespace detail {
/// What get() finds once Highway dispatches to `instruction_set()`. Each get is called once.
template <class Get>
const auto& dispatched(const Get& get) {
  static const auto& found = *(instruction_set(), get());
  return found;
}
}  // namespace detail

}  // namespace tapegrad::TAPEGRAD_SCALAR
