#pragma once

#include <string>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The instruction set that operations run with: "avx512", "avx2" or "sse2" on x86-64, "neon" on
/// ARM. It is the best one that the processor has, unless TAPEGRAD_TARGET in the environment names
/// another, which is read once, before the first operation. The last digits of results depend on
/// it. Throws Error for a TAPEGRAD_TARGET that this processor does not have; so does the first
/// operation.
const std::string& instruction_set();

namespace detail {
/// get(), after Highway has been told to dispatch to `instruction_set()`.
template <class Get>
auto dispatched(const Get& get) {
  instruction_set();
  return get();
}
}  // namespace detail

}  // namespace tapegrad::TAPEGRAD_SCALAR
