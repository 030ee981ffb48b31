#include "tapegrad/core/indices.h"

#include <algorithm>

#include "tapegrad/core/error.h"

namespace tapegrad::TAPEGRAD_SCALAR {

Indices::Indices(const Shape& shape, std::span<const Index> values)
    : Indices(uninitialized(shape)) {
  expect(static_cast<Index>(values.size()) == shape.size(),
         "indices: shape {} needs {} values: {} given", shape, shape.size(), values.size());
  std::copy(values.begin(), values.end(), mutable_data());
}

Indices Indices::uninitialized(const Shape& shape) {
  Indices indices;
  indices.storage_ = Storage::allocate(static_cast<std::size_t>(shape.size()) * sizeof(Index));
  indices.shape_ = shape;
  return indices;
}

Index* Indices::mutable_data() {
  expect<Error>(storage_.unique(), "mutable_data: {}: {}",
                defined() ? "other indices or a tape share the values" : "undefined indices",
                shape_);
  return static_cast<Index*>(storage_.data());
}

Indices Indices::reshape(const Extents& extents, Place place) const {
  const PlaceScope caller(place);
  expect(defined(), "reshape: the indices are undefined");
  Indices result = *this;
  result.shape_ = extents.of(shape_);
  return result;
}

void expect_below(const char* operation, const Indices& indices, Index count) {
  const auto values = indices.values();
  const auto outside = std::find_if(values.begin(), values.end(),
                                    [=](Index value) { return value < 0 || value >= count; });
  if (outside != values.end()) fail("{}: index {} is not in [0, {})", operation, *outside, count);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
