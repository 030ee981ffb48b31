#include "tapegrad/zoo/glimpse.h"

#include <algorithm>

#include "tapegrad/core/error.h"
#include "tapegrad/core/options.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

void expect_filters(const char* operation, const GlimpseFilters& filters, Index batch) {
  const auto& [y, x, intensity] = filters;
  expect_defined(operation, y, x, intensity);
  expect(y.rank() == 3 && x.rank() == 3 && y.shape()[0] == batch && x.shape()[0] == batch &&
             y.shape()[1] == x.shape()[1] && intensity.shape() == Shape{batch},
         "{}: {} images need filters (B, N, height), (B, N, width) and intensities (B): {}, {} "
         "and {}",
         operation, batch, y.shape(), x.shape(), intensity.shape());
}

// From (B) to a factor of (B, n, n).
Tensor of_each(const Tensor& x) { return reshape(x, {x.size(), 1, 1}); }

// The exponent from which on a weight e^-x counts as 0. Products of smaller weights would be
// subnormal numbers, which cost the processor some hundred cycles each.
constexpr double farthest_weight = 40;
// The least number that the weights of a filter are divided by.
constexpr double least_filter_sum = 1e-8;

}  // namespace

GlimpseWindow glimpse_window(const Tensor& numbers, GlimpseSizes sizes, Place place) {
  const PlaceScope caller(place);
  const auto [filters, height, width] = sizes;
  expect_defined("glimpse_window", numbers);
  expect(numbers.rank() == 2 && numbers.shape()[1] == 5,
         "glimpse_window: needs five numbers for each image, (B, 5): {}", numbers.shape());
  expect<ArgumentError>(filters >= 2, "glimpse_window: needs two filters at least: {}", filters);
  expect_positive("glimpse_window", "the height", height);
  expect_positive("glimpse_window", "the width", width);
  const auto number = [&](Index i) { return select(numbers, i, 1); };
  const double whole = static_cast<double>(std::max(height, width) - 1) / (filters - 1);
  return {.x = (width + 1.0) / 2 * (number(0) + 1.0),
          .y = (height + 1.0) / 2 * (number(1) + 1.0),
          .stride = whole * exp(number(3)),
          .deviation = exp(0.5 * number(2)),
          .intensity = exp(number(4))};
}

Tensor gaussian_filterbank(const Tensor& center, const Tensor& stride, const Tensor& deviation,
                           FilterbankSizes sizes, Place place) {
  const OperationScope scope("gaussian_filterbank", place, center, stride, deviation);
  const auto [filters, extent] = sizes;
  expect(
      center.rank() == 1 && stride.shape() == center.shape() && deviation.shape() == center.shape(),
      "gaussian_filterbank: needs three vectors of one size: {}, {} and {}", center.shape(),
      stride.shape(), deviation.shape());
  expect_positive("gaussian_filterbank", "the number of filters", filters);
  expect_positive("gaussian_filterbank", "the extent", extent);
  const Tensor places = arange(filters) - (filters - 1.0) / 2;
  const Tensor centers = of_each(center) + of_each(stride) * reshape(places, {filters, 1});
  const Tensor distances = (arange(extent) + 1.0 - centers) / of_each(deviation);
  const Tensor exponents = 0.5 * square(distances);
  const Tensor weights = less(exponents, farthest_weight) * exp(-exponents);
  return weights / maximum(sum(weights, -1, Keep::yes), least_filter_sum);
}

GlimpseFilters glimpse_filters(const GlimpseWindow& window, GlimpseSizes sizes, Place place) {
  const PlaceScope caller(place);
  const auto bank = [&](const Tensor& center, Index extent) {
    return gaussian_filterbank(center, window.stride, window.deviation, {sizes.filters, extent});
  };
  return {bank(window.y, sizes.height), bank(window.x, sizes.width), window.intensity};
}

Tensor read_glimpse(const Tensor& images, const GlimpseFilters& filters, Place place) {
  const OperationScope scope("read_glimpse", place, images);
  expect(images.rank() == 3, "read_glimpse: needs images (B, height, width): {}", images.shape());
  expect_filters("read_glimpse", filters, images.shape()[0]);
  const Tensor seen = matmul(matmul(filters.y, images), filters.x, {.b = true});
  return of_each(filters.intensity) * seen;
}

Tensor write_glimpse(const Tensor& patches, const GlimpseFilters& filters, Place place) {
  const OperationScope scope("write_glimpse", place, patches);
  expect(patches.rank() == 3, "write_glimpse: needs patches (B, filters, filters): {}",
         patches.shape());
  expect_filters("write_glimpse", filters, patches.shape()[0]);
  const Tensor scaled = patches * of_each(1.0 / filters.intensity);
  return matmul(matmul(filters.y, scaled, {.a = true}), filters.x);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
