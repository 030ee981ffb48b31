#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "tapegrad/core/scoped.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A line of the user's source. As a default argument, `Place::here()` is the line of the call.
/// Example: `auto mine = [](Place place = Place::here()) { return to_string(place); }; mine()`
struct Place {
  const char* file = "";
  int line = 0;

  static constexpr Place here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

/// "train.cpp:42": the file without its folders, and the line.
/// Example: `fmt::print("{}\n", to_string(x))`
std::string to_string(const Place& place);

/// While in scope, attributes every operation recorded on this thread and every error to one place.
/// Operations and layers point at their caller, and a sweep at the operation it differentiates.
/// Blocks of Transformers and models show which of their own lines calls a layer. The outermost
/// scope wins.
/// Example: `const PlaceScope caller(Place::here()); relu(x)`
class PlaceScope {
 public:
  explicit PlaceScope(const Place& place) : place_(scoped_, current(place)) {}

  /// The place of the outermost scope on this thread, or `fallback` outside of all scopes.
  static const Place& current(const Place& fallback) {
    return scoped_.line == 0 ? fallback : scoped_;
  }
  /// A message followed by that place: "message [train.cpp:42]".
  static std::string located(const std::string& message);

 private:
  static constinit thread_local Place scoped_;
  Scoped<Place> place_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR

template <>
struct fmt::formatter<tapegrad::Place> {
  constexpr auto parse(format_parse_context& context) { return context.begin(); }
  auto format(const tapegrad::Place& place, format_context& context) const {
    const std::string written = tapegrad::to_string(place);
    return std::copy(written.begin(), written.end(), context.out());
  }
};
