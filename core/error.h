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
/// Example: `try { add(x, steps); } catch (const Error& error) { std::puts(error.what()); }`
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Shapes, axes or positions do not fit.
/// Example: `try { matmul(x, y); } catch (const ShapeError& error) { std::puts(error.what()); }`
struct ShapeError : Error {
  using Error::Error;
};

/// Options or numbers are out of range, have no effect or conflict.
/// Example: `try { dropout(x, 2, random); } catch (const ArgumentError&) { std::puts("no rate"); }`
struct ArgumentError : Error {
  using Error::Error;
};

/// A tape, or a tensor of a tape, is used where it must not be.
/// Example: `try { NoGrad off; grad(x, x); } catch (const TapeError&) { std::puts("no tape"); }`
struct TapeError : Error {
  using Error::Error;
};

/// A tape with `check_finite`, a checkpoint to be saved, or a run found a NaN or an infinity.
/// Example: `try { net(x); } catch (const NonFiniteError& error) { std::puts(error.what()); }`
struct NonFiniteError : Error {
  using Error::Error;
};

/// The system refused memory; the message has the amount and the purpose.
/// Example: `try { eye(100); } catch (const MemoryError& error) { std::puts(error.what()); }`
struct MemoryError : Error {
  using Error::Error;
};

/// A file is missing, damaged or of another format; the message names file and byte.
/// Example: `try { read_npy("none.npy"); } catch (const DataError&) { std::puts("no file"); }`
struct DataError : Error {
  using Error::Error;
};

/// Throws E with a formatted message, and the place of the PlaceScope around it, if there is one.
/// Example: `if (x.rank() != 2) fail("rows: not a matrix: {}", x.shape())`
template <class E = ShapeError, class... Args>
[[noreturn]] void fail(fmt::format_string<const Args&...> format, const Args&... args) {
  throw E(PlaceScope::located(fmt::format(format, args...)));
}

/// Throws likewise, unless `condition` holds.
/// Example: `expect(x.rank() == 2, "rows: not a matrix: {}", x.shape())`
template <class E = ShapeError, class... Args>
void expect(bool condition, fmt::format_string<const Args&...> format, const Args&... args) {
  if (!condition) [[unlikely]]
    fail<E>(format, args...);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
