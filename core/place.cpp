#include "tapegrad/core/place.h"

#include <fmt/core.h>

#include <string_view>

namespace tapegrad {
namespace {

thread_local Place scoped_place;

}  // namespace

std::string text(const Place& place) {
  const std::string_view file = place.file;
  return fmt::format("{}:{}", file.substr(file.find_last_of('/') + 1), place.line);
}

PlaceScope::PlaceScope(const Place& place) : outermost_(scoped_place.line == 0) {
  if (outermost_) scoped_place = place;
}

PlaceScope::~PlaceScope() {
  if (outermost_) scoped_place = {};
}

const Place& PlaceScope::current(const Place& fallback) {
  return scoped_place.line == 0 ? fallback : scoped_place;
}

}  // namespace tapegrad
