#include "tapegrad/train/plot.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tapegrad/core/error.h"

using namespace tapegrad;
using Catch::Contains;

namespace {

std::string drawn(const Series& series, bool logarithmic = false) {
  return svg({{.title = "t",
               .x_label = "x",
               .y_label = "y",
               .series = {series},
               .logarithmic = logarithmic}});
}

}  // namespace

TEST_CASE("a band spans the deviations, and the axis the band") {
  const std::string image = drawn({"a", {{0, 1}, {1, 3}}, {1, 2}});
  // The y axis goes from 0 to 5, between the heights 264 and 40.
  CHECK_THAT(image, Contains("d=\"M72.0 174.4L696.0 40.0L696.0 219.2L72.0 264.0Z\""));
  CHECK_THAT(image, Contains("d=\"M72.0 219.2h0L696.0 129.6\""));
  CHECK_THAT(image, Contains(">5</text>") && !Contains(">6</text>"));
  CHECK_THAT(image, Contains("bands: +- standard deviation"));
}

TEST_CASE("a band lies behind all curves, in the color of its own") {
  const std::string image =
      svg({{.title = "t",
            .x_label = "x",
            .y_label = "y",
            .series = {{"a", {{0, 1}, {1, 3}}}, {"b", {{0, 1}, {1, 3}}, {1, 2}}}}});
  CHECK(image.find("class=\"band shade1\"") < image.find("class=\"curve"));
  CHECK_THAT(image, !Contains("\"band shade0\""));
  const auto dark = image.find("prefers-color-scheme: dark");
  for (const auto& [sheet, color] :
       {std::pair{image.substr(0, dark), "#bc4c00"}, std::pair{image.substr(dark), "#f0883e"}}) {
    CHECK_THAT(sheet, Contains(std::string(".color1 { stroke: ") + color));
    CHECK_THAT(sheet, Contains(std::string(".shade1 { fill: ") + color));
  }
}

TEST_CASE("without deviations there is no trace of bands") {
  const std::string image = drawn({"a", {{0, 1}, {1, 3}}});
  CHECK_THAT(image, !Contains("band") && !Contains("shade"));
}

TEST_CASE("logarithmic axes clip what a band has below them") {
  const std::string image = drawn({"a", {{1, 10}, {2, 10}}, {5, 10}}, true);
  // The y axis goes from 5 to 20; the lower ends are 5 and 0.
  CHECK_THAT(image, Contains("d=\"M72.0 86.5L696.0 40.0L696.0 264.0L72.0 264.0Z\""));
  CHECK_THAT(image, !Contains("nan") && !Contains("inf"));
}

TEST_CASE("points without a finite deviation are not part of a band") {
  const std::string image = drawn({"a", {{0, 1}, {1, INFINITY}, {2, 1}, {3, 1}}, {1, NAN, NAN, 1}});
  CHECK_THAT(image, Contains("d=\"M72.0 40.0L696.0 40.0L696.0 264.0L72.0 264.0Z\""));
  CHECK_THAT(image, !Contains("nan") && !Contains("inf"));
}

TEST_CASE("a curve has a deviation at each of its points or at none") {
  CHECK_THROWS_WITH(drawn({"a", {{0, 1}, {1, 3}}, {1}}),
                    Contains("svg: a has 2 points, but 1 deviations"));
  CHECK_THROWS_AS(drawn({"a", {{0, 1}}, {1, 2}}), ArgumentError);
}
