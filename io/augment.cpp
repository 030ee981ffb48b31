#include "tapegrad/io/augment.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "tapegrad/core/options.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

void expect_images(const char* operation, const Tensor& images) {
  expect_defined(operation, images);
  expect(images.rank() == 4, "{}: images must be (N, C, H, W): {}", operation, images.shape());
}

// The part of height x width of each image, at the (row, column) that `corner` draws. Beyond the
// image there are zeros.
template <class Corner>
Tensor windows(const Tensor& images, Index height, Index width, const Corner& corner) {
  const Index count = images.shape()[0], channels = images.shape()[1], rows = images.shape()[2],
              columns = images.shape()[3];
  Tensor result = Tensor::uninitialized({count, channels, height, width});
  real* out = result.mutable_data();
  std::fill_n(out, result.size(), real{0});
  for (Index image = 0; image < count; ++image) {
    const auto [top, left] = corner();
    const Index first = std::max<Index>(0, -left),
                last = std::clamp(columns - left, first, std::max(first, width));
    for (Index channel = 0; channel < channels; ++channel) {
      const real* from = images.data() + (image * channels + channel) * rows * columns;
      real* to = out + (image * channels + channel) * height * width;
      for (Index row = std::max<Index>(0, -top); row < std::min(height, rows - top); ++row)
        std::copy(from + (row + top) * columns + left + first,
                  from + (row + top) * columns + left + last, to + row * width + first);
    }
  }
  return result;
}

}  // namespace

Tensor shifted(const Tensor& images, Index most, Random& random) {
  expect_images("shifted", images);
  const Index height = images.shape()[2], width = images.shape()[3];
  expect<ArgumentError>(
      0 <= most && most < std::min(height, width),
      "shifted: the shift must be at least 0 and less than height and width: {} of {}", most,
      images.shape());
  return windows(images, height, width, [&] {
    const Index down = random.below(2 * most + 1) - most;
    const Index right = random.below(2 * most + 1) - most;
    return std::pair(-down, -right);
  });
}

Tensor flipped(const Tensor& images, Random& random, double probability) {
  expect_images("flipped", images);
  expect<ArgumentError>(0 <= probability && probability <= 1,
                        "flipped: the probability must lie in [0, 1]: {}", probability);
  const Index width = images.shape()[3];
  const Index size = images.shape()[1] * images.shape()[2] * width;
  Tensor result = Tensor::uninitialized(images.shape());
  real* out = result.mutable_data();
  std::copy_n(images.data(), images.size(), out);
  for (Index image = 0; image < images.shape()[0]; ++image) {
    if (random.uniform() >= probability) continue;
    for (Index row = 0; row < size; row += width)
      std::reverse(out + image * size + row, out + image * size + row + width);
  }
  return result;
}

Tensor cropped(const Tensor& images, Index height, Index width, Random& random, Index padding) {
  expect_images("cropped", images);
  expect_positive("cropped", "height", height);
  expect_positive("cropped", "width", width);
  expect_not_negative("cropped", "padding", padding);
  const Index spare_rows = images.shape()[2] + 2 * padding - height;
  const Index spare_columns = images.shape()[3] + 2 * padding - width;
  expect<ArgumentError>(spare_rows >= 0 && spare_columns >= 0,
                        "cropped: {} x {} does not fit into {} with padding {}", height, width,
                        images.shape(), padding);
  return windows(images, height, width, [&] {
    const Index top = random.below(spare_rows + 1) - padding;
    const Index left = random.below(spare_columns + 1) - padding;
    return std::pair(top, left);
  });
}

Tensor noisy(const Tensor& x, double deviation, Random& random) {
  expect_defined("noisy", x);
  expect_not_negative("noisy", "deviation", deviation);
  const Tensor noise = random.normal(x.shape(), 0, deviation);
  Tensor result = Tensor::uninitialized(x.shape());
  std::transform(x.data(), x.data() + x.size(), noise.data(), result.mutable_data(),
                 std::plus<real>());
  return result;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
