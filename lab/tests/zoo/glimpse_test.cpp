#include "tapegrad/zoo/glimpse.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "support/golden.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/derivatives.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;
using Catch::StartsWith;

namespace {

double distance(const Tensor& a, const Tensor& b) { return max(abs(a - b)).item(); }

// The numbers of two windows, equal but for what is given.
Tensor numbers(double x, double y, double log_variance, double log_stride, double log_intensity) {
  const std::vector<double> row{x, y, log_variance, log_stride, log_intensity};
  Tensor both = zeros({2, 5});
  for (Index i = 0; i < both.size(); ++i)
    both.mutable_data()[i] = static_cast<real>(row[static_cast<std::size_t>(i % 5)]);
  return both;
}

GlimpseFilters filters_of(const Tensor& numbers, GlimpseSizes sizes) {
  return glimpse_filters(glimpse_window(numbers, sizes), sizes);
}

}  // namespace

TEST_CASE("narrow filters, one for each pixel, read and write the image itself", "[ops]") {
  const Tensor images = Random(1).uniform({2, 28, 28});
  const GlimpseFilters filters =
      filters_of(numbers(0, 0, std::log(1e-2), 0, 0), {.filters = 28, .height = 28, .width = 28});
  CHECK(distance(filters.x, stack({eye(28), eye(28)})) < 1e-5);
  const Tensor seen = read_glimpse(images, filters);
  CHECK(distance(seen, images) < 1e-5);
  CHECK(distance(write_glimpse(seen, filters), images) < 1e-5);
}

TEST_CASE("zeros look at the whole image, of any form", "[ops]") {
  const GlimpseWindow window =
      glimpse_window(zeros({1, 5}), {.filters = 4, .height = 7, .width = 10});
  CHECK(window.x.item() == Approx(5.5));
  CHECK(window.y.item() == Approx(4));
  CHECK(window.stride.item() == Approx(3));
  CHECK(window.deviation.item() == 1);
  CHECK(window.intensity.item() == 1);
}

TEST_CASE("the weights of a filter sum to 1, and far outside of the image to nothing", "[ops]") {
  const auto sums = [](double center) {
    return sum(gaussian_filterbank(Tensor({1}, {static_cast<real>(center)}), ones({1}), ones({1}),
                                   {.filters = 3, .extent = 9}),
               -1);
  };
  CHECK(distance(sums(5), ones({1, 3})) < 1e-6);
  CHECK(distance(sums(1), ones({1, 3})) < 1e-6);
  CHECK(distance(sums(-40), zeros({1, 3})) == 0);
}

TEST_CASE("filters that are far from the image, and narrow ones, are their definition", "[ops]") {
  // The first has a sum below the least one, the second no weight at all.
  const std::vector<Tensor> windows{Tensor({3}, {-6, -40, 4.6}), ones({3}),
                                    Tensor({3}, {1, 1, 0.2})};
  const Function bank = [](const std::vector<Tensor>& in) {
    return gaussian_filterbank(in[0], in[1], in[2], {.filters = 2, .extent = 9});
  };
  const Tensor seed = Random(1).normal({3, 2, 9});
  const Tensor value = bank(windows);
  const std::vector<Tensor> gradients = vjp(bank, windows, seed);
  const Composite readable;
  CHECK(distance(value, bank(windows)) < 1e-6);
  const std::vector<Tensor> expected = vjp(bank, windows, seed);
  for (std::size_t i = 0; i < 3; ++i) CHECK(relative_error(gradients[i], expected[i]) < 1e-4);
  CHECK(std::abs(gradients[0].data()[0]) > 1e-4);
  CHECK(sum(value, Axes{1, 2}).data()[0] > 0);
  CHECK(sum(value, Axes{1, 2}).data()[0] < 0.5);
}

TEST_CASE("intensity multiplies what is read and divides what is written", "[ops]") {
  const Tensor images = Random(1).uniform({2, 6, 6}), patches = Random(2).uniform({2, 3, 3});
  const GlimpseSizes sizes{.filters = 3, .height = 6, .width = 6};
  const GlimpseFilters plain = filters_of(numbers(0.1, -0.2, 0, 0.3, 0), sizes);
  const GlimpseFilters strong = filters_of(numbers(0.1, -0.2, 0, 0.3, std::log(4)), sizes);
  CHECK(distance(read_glimpse(images, strong), 4.0 * read_glimpse(images, plain)) < 1e-5);
  CHECK(distance(4.0 * write_glimpse(patches, strong), write_glimpse(patches, plain)) < 1e-5);
}

TEST_CASE("the error of a filter's gradients does not grow with the image", "[ops]") {
  constexpr Index extent = 1'000'000;
  const double center = 4e5, deviation = 3e5;
  std::vector<real> seed;
  double g0 = 0, g1 = 0, g2 = 0, w0 = 0, w1 = 0, w2 = 0;
  for (Index a = 0; a < extent; ++a) {
    seed.push_back(static_cast<real>(1 + static_cast<double>(a) / extent));
    const double u = (static_cast<double>(a + 1) - center) / deviation, w = std::exp(-u * u / 2);
    g0 += seed.back() * w, g1 += seed.back() * w * u, g2 += seed.back() * w * u * u;
    w0 += w, w1 += w * u, w2 += w * u * u;
  }
  const Function bank = [](const std::vector<Tensor>& in) {
    return gaussian_filterbank(in[0], ones({1}), in[1], {.filters = 1, .extent = extent});
  };
  const std::vector<Tensor> found =
      vjp(bank, {full({1}, center), full({1}, deviation)}, Tensor({1, 1, extent}, seed));
  // The derivatives of sum(g w) / sum(w).
  const double of_center = (g1 - g0 * w1 / w0) / (deviation * w0);
  const double of_deviation = (g2 - g0 * w2 / w0) / (deviation * w0);
  CHECK(found[0].item() / of_center == Approx(1).epsilon(1e-5));
  CHECK(found[1].item() / of_deviation == Approx(1).epsilon(1e-5));
}

TEST_CASE("glimpses of every small batch and image have a shape or are refused", "[ops]") {
  for (const Index batch : {0, 1})
    for (const Index height : {0, 1})
      for (const Index width : {0, 1}) {
        const GlimpseSizes sizes{.filters = 2, .height = height, .width = width};
        INFO(batch << " images of " << height << " by " << width);
        const Tape tape;
        const Tensor chosen = watch(zeros({batch, 5})),
                     images = watch(ones({batch, height, width}));
        if (height * width == 0) {
          CHECK_THROWS_AS(filters_of(chosen, sizes), ArgumentError);
          continue;
        }
        const GlimpseFilters filters = filters_of(chosen, sizes);
        const Tensor seen = read_glimpse(images, filters), drawn = write_glimpse(seen, filters);
        CHECK(seen.shape() == Shape{batch, 2, 2});
        CHECK(drawn.shape() == images.shape());
        for (const Tensor& gradient : grad(sum(drawn), {chosen, images}))
          CHECK(std::ranges::all_of(gradient.values(), [](real g) { return std::isfinite(g); }));
      }
  CHECK_THROWS_AS(gaussian_filterbank(ones({1}), ones({1}), ones({1}), {1, 0}), ArgumentError);
  CHECK(gaussian_filterbank(zeros({0}), zeros({0}), zeros({0}), {1, 1}).shape() == Shape{0, 1, 1});
  CHECK(gaussian_filterbank(ones({1}), ones({1}), ones({1}), {1, 1}).item() == 1);
}

TEST_CASE("glimpses refuse what does not fit by name", "[ops]") {
  const GlimpseWindow window = glimpse_window(zeros({2, 5}), {3, 6, 6});
  CHECK_THROWS_WITH(
      glimpse_window(zeros({2, 4}), {3, 6, 6}),
      StartsWith("glimpse_window: needs five numbers for each image, (B, 5): (2, 4) ["));
  CHECK_THROWS_WITH(glimpse_window(zeros({2, 5}), {1, 6, 6}),
                    Contains("needs two filters at least: 1"));
  CHECK_THROWS_WITH(glimpse_window(zeros({2, 5}), {3, 6, 0}),
                    Contains("width must be at least 1: 0"));
  CHECK_THROWS_WITH(gaussian_filterbank(ones({2}), ones({3}), ones({2}), {3, 6}),
                    Contains("three vectors of one size: (2), (3) and (2)"));
  CHECK_THROWS_WITH(gaussian_filterbank(ones({2}), ones({2}), ones({2}), {0, 6}),
                    Contains("number of filters must be at least 1: 0"));
  const GlimpseFilters filters = glimpse_filters(window, {3, 6, 6});
  CHECK_THROWS_WITH(read_glimpse(zeros({6, 6}), filters), Contains("(B, height, width): (6, 6)"));
  CHECK_THROWS_WITH(read_glimpse(zeros({3, 6, 6}), filters),
                    Contains("3 images need filters (B, N, height), (B, N, width) and intensities "
                             "(B): (2, 3, 6), (2, 3, 6) and (2)"));
  CHECK_THROWS_AS(read_glimpse(zeros({2, 6, 5}), filters), ShapeError);
  CHECK_THROWS_WITH(write_glimpse(zeros({3, 3}), filters),
                    Contains("patches (B, filters, filters): (3, 3)"));
  CHECK_THROWS_AS(write_glimpse(zeros({2, 3, 4}), filters), ShapeError);
}
