#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The meaning of the greatest exponent: infinities and NaN, as in IEEE 754, or ordinary numbers
/// and one NaN of all ones (OCP 8-bit floating point specification, section 5).
enum class Top { special, numbers };

/// The value of a small float: sign, exponent, mantissa.
inline double small_float(std::uint32_t bits, int exponent_bits, int mantissa_bits, Top top) {
  const std::uint32_t greatest = (1U << exponent_bits) - 1, ones = (1U << mantissa_bits) - 1;
  const std::uint32_t mantissa = bits & ones, exponent = bits >> mantissa_bits & greatest;
  const double sign = bits >> (exponent_bits + mantissa_bits) == 0 ? 1 : -1;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (exponent == greatest && top == Top::special && mantissa == 0) return sign * INFINITY;
  if (exponent == greatest && (top == Top::special || mantissa == ones)) return NAN;
  const std::uint32_t leading = exponent == 0 ? 0 : ones + 1;  // subnormal numbers have none
  const int power = std::max(1, static_cast<int>(exponent)) - bias - mantissa_bits;
  return sign * std::ldexp(leading + mantissa, power);
}

/// The value of a float of 16 bits, IEEE 754's binary16.
inline double of_f16(std::uint16_t bits) { return small_float(bits, 5, 10, Top::special); }

}  // namespace tapegrad::TAPEGRAD_SCALAR
