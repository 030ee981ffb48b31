#pragma once

#ifndef __cpp_exceptions
#error "tapegrad reports errors with exceptions: compile without -fno-exceptions"
#endif

#include <fmt/core.h>

#include <stdexcept>
#include <utility>

#include "tapegrad/core/place.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The base of every error of this library. Messages read
/// `<operation>: <what is wrong>: <the shapes or values>[; <what to do>]`. Errors of operations,
/// layers and gradients end with the caller's line of source: `[train.cpp:42]`.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Shapes, axes or positions do not fit.
struct ShapeError : Error {
  using Error::Error;
};

/// Options or numbers are out of range, have no effect or conflict.
struct ArgumentError : Error {
  using Error::Error;
};

/// A tape, or a tensor of a tape, is used where it must not be.
struct TapeError : Error {
  using Error::Error;
};

/// A tape with `check_finite` found a NaN or an infinity.
struct NonFiniteError : Error {
  using Error::Error;
};

/// The system refused memory; the message says how much and for what.
struct MemoryError : Error {
  using Error::Error;
};

/// A file is missing, damaged or of another format; the message names file and byte.
struct DataError : Error {
  using Error::Error;
};

/// Throws E with a formatted message, and the place of the PlaceScope around it, if there is one.
template <class E = ShapeError, class... Args>
[[noreturn]] void fail(fmt::format_string<const Args&...> format, const Args&... args) {
  throw E(PlaceScope::located(fmt::format(format, args...)));
}

/// The same, unless `condition` holds.
template <class E = ShapeError, class... Args>
void expect(bool condition, fmt::format_string<const Args&...> format, const Args&... args) {
  if (!condition) [[unlikely]]
    fail<E>(format, args...);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
