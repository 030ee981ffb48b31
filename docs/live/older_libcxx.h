#pragma once

// Functions that the C++ library of Debian 12's Emscripten lacks.

#include <charconv>
#include <cstdlib>
#include <string>

namespace std {

#if _LIBCPP_VERSION < 14000
template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}
#endif

#if _LIBCPP_VERSION < 200000
inline from_chars_result from_chars(const char* begin, const char* end, double& value) {
  const string text(begin, end);
  char* after = nullptr;
  value = strtod(text.c_str(), &after);
  return {begin + (after - text.c_str()), after == text.c_str() ? errc::invalid_argument : errc()};
}
#endif

}  // namespace std
