#include "tapegrad/core/place.h"

#include <string_view>

namespace tapegrad::TAPEGRAD_SCALAR {

std::string to_string(const Place& place) {
  const std::string_view file = place.file;
  return fmt::format("{}:{}", file.substr(file.find_last_of('/') + 1), place.line);
}

constinit thread_local Place PlaceScope::scoped_;

std::string PlaceScope::located(const std::string& message) {
  return scoped_.line == 0 ? message : fmt::format("{} [{}]", message, scoped_);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
