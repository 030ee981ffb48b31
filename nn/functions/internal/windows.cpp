#include "tapegrad/nn/functions/internal/windows.h"

#include "tapegrad/core/error.h"

namespace tapegrad::TAPEGRAD_SCALAR {

Index window_count(const char* operation, const Shape& image, int axis, const WindowMoves& moves,
                   bool ceil_mode) {
  const auto [size, stride, padding] = moves;
  expect<ArgumentError>(stride >= 1 && padding >= 0 && size >= 1,
                        "{}: size and stride must be at least 1, padding at least 0: {}, {}, {}",
                        operation, size, stride, padding);
  const Index extent = image[axis];
  const Index room = extent + 2 * padding - size + (ceil_mode ? stride - 1 : 0);
  expect(room >= 0, "{}: a window of {} does not fit {} with padding {}", operation, size, image,
         padding);
  const Index count = room / stride + 1;
  return ceil_mode && (count - 1) * stride >= extent + padding ? count - 1 : count;
}

Index only_number(const char* operation, const char* option, const HeightWidth& given) {
  expect<ArgumentError>(given.height == given.width, "{}: one axis takes one {}, not two: {}, {}",
                        operation, option, given.height, given.width);
  return given.width;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
