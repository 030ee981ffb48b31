#include "tapegrad/train/heat_map.h"

#include <catch2/catch.hpp>
#include <cfloat>
#include <cmath>

#include "support/find_all.h"
#include "tapegrad/core/error.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

HeatMap map() {
  return {.title = "Sums",
          .rows = {"batch", "layer"},
          .columns = {"matrix scaled", "data moved", "case"},
          .values = {{-16, -INFINITY, NAN}, {0, -4, -8}},
          .unit = "log10",
          .caption = "The lower row is dark."};
}

}  // namespace

TEST_CASE("a cell's color is as strong as its value is great, and it shows the number") {
  const std::string image = svg(map());
  CHECK(find_all(image, "class=\"cell\" fill-opacity=\"([0-9.]+)\"") ==
        std::vector<std::string>{"0.06", "0.06", "0.00", "0.94", "0.72", "0.50"});
  CHECK(find_all(image, "text-anchor=\"middle\"[^>]*>(-?[0-9.inf]+|-)<") ==
        std::vector<std::string>{"-16.0", "-inf", "-", "0.0", "-4.0", "-8.0"});
  HeatMap digits = map();
  digits.values = {{0.5, -1.25, 9}, {0, NAN, -INFINITY}};
  CHECK(find_all(svg(digits), "text-anchor=\"middle\"[^>]*>(-?[0-9.inf]+|-)<") ==
        std::vector<std::string>{"0.50", "-1.25", "9.00", "0.00", "-", "-inf"});
  HeatMap small = map();
  small.values[0][0] = -0.01;
  CHECK_THAT(svg(small), !Contains(">-0.0<"));
  // Letters stand out from strong colors.
  CHECK(find_all(image, "class=\"strong\"[^>]*>([^<]*)<") ==
        std::vector<std::string>{"0.0", "-4.0"});
}

TEST_CASE("cells stand in the rows and columns of their names") {
  const std::string image = svg(map());
  const auto place = [&](const std::string& text, const char* coordinate) {
    const auto found =
        find_all(image, "translate\\(" + std::string(coordinate) + "\\)\">" + text + "<");
    REQUIRE(found.size() == 1);
    return std::stod(found[0]);
  };
  const char *x = "([0-9.]+) [0-9.]+", *y = "[0-9.]+ ([0-9.]+)";
  CHECK(place("-8\\.0", x) == place("case", x));
  CHECK(place("-4\\.0", x) == place("data moved", x));
  CHECK(place("-8\\.0", y) == place("layer", y));
  CHECK(place("-16\\.0", y) == place("batch", y));
}

TEST_CASE("equal values have equal colors") {
  HeatMap same = map();
  same.values = {{3, 3, 3}, {3, 3, 3}};
  CHECK(find_all(svg(same), "fill-opacity=\"([0-9.]+)\"") ==
        std::vector<std::string>{"0.06", "0.06", "0.06", "0.06", "0.06", "0.06"});
}

TEST_CASE("values without bounds have the colors of the least and the greatest") {
  HeatMap wide = map();
  wide.values = {{-DBL_MAX, 0, 1}, {DBL_MAX, 0.5, INFINITY}};
  CHECK(find_all(svg(wide), "fill-opacity=\"([^\"]*)\"") ==
        std::vector<std::string>{"0.06", "0.06", "0.94", "0.94", "0.50", "0.94"});
  CHECK(find_all(svg(wide), "text-anchor=\"middle\"[^>]*>(-?[0-9.e+inf]+)<") ==
        std::vector<std::string>{"-1.8e+308", "0.0", "1.0", "1.8e+308", "0.5", "inf"});
  wide.values = {{DBL_MAX, NAN, INFINITY}, {-DBL_MAX, -INFINITY, 1e308}};
  CHECK_THAT(svg(wide), !Contains("\"nan\""));
}

TEST_CASE("a map of nothing has a title") {
  for (const Medium medium : {Medium::page, Medium::phone, Medium::slide}) {
    for (const HeatMap& nothing :
         {HeatMap{.title = "Sums", .rows = {}, .columns = {}, .values = {}},
          HeatMap{.title = "Sums", .rows = {"a"}, .columns = {}, .values = {{}}},
          HeatMap{.title = "Sums", .rows = {}, .columns = {"a"}, .values = {}}}) {
      const std::string image = svg(nothing, medium);
      CHECK_THAT(image, !Contains("nan") && !Contains("inf"));
      CHECK_THAT(image, !Contains("class=\"cell\""));
    }
  }
}

TEST_CASE("cells have a width beside long names and among many") {
  HeatMap crowded = map();
  crowded.rows[0] = std::string(200, 'm');
  CHECK(
      find_all(svg(crowded), "class=\"cell\"[^>]* d=\"M[0-9.]+ [0-9.]+h([0-9.]+)v26.0h-").size() ==
      6);
  crowded.columns.assign(400, "a");
  crowded.values.assign(2, std::vector<double>(400, 1));
  CHECK_THAT(svg(crowded), Contains("h0.0v26.0h-0.0z") && !Contains("--"));
}

TEST_CASE("numbers fit their cells") {
  HeatMap narrow = map();
  while (narrow.columns.size() < 9) {
    narrow.columns.push_back("more");
    for (auto& row : narrow.values) row.push_back(-12.34);
  }
  CHECK_THAT(svg(narrow), Contains(">-12.3<"));
  CHECK_THAT(svg(narrow, Medium::phone), Contains(">-12<") && !Contains(">-12.3<"));
}

TEST_CASE("names of columns stand upright where their words are wider than cells") {
  CHECK_THAT(svg(map()), !Contains("rotate(-90)"));
  CHECK_THAT(svg(map()), Contains(">matrix scaled<"));
  HeatMap wide = map();
  for (int i = 0; i < 9; ++i) {
    wide.columns.push_back("transformed");
    for (auto& row : wide.values) row.push_back(1);
  }
  CHECK(find_all(svg(wide), "rotate\\(-90\\)\">([^<]*)<").size() == wide.columns.size());
}

TEST_CASE("the colors follow the reader's preference, a slide's do not") {
  const std::string page = svg(map()), slide = svg(map(), Medium::slide);
  CHECK(find_all(page, "\\.cell \\{ fill: (#\\w+)") ==
        std::vector<std::string>{"#0550ae", "#79c0ff"});
  CHECK(find_all(slide, "\\.cell \\{ fill: (#\\w+)") == std::vector<std::string>{"#0550ae"});
  CHECK_THAT(slide, Contains("width=\"1280\" height=\"720\""));
  CHECK_THAT(page, Contains("<desc>The lower row is dark.</desc>"));
}

TEST_CASE("a map has a value for each row and column") {
  HeatMap lacks = map();
  lacks.values[1].pop_back();
  CHECK_THROWS_WITH(svg(lacks), Contains("svg: Sums has 3 columns, but 2 values in row layer"));
  lacks.values.pop_back();
  CHECK_THROWS_WITH(svg(lacks), Contains("svg: Sums has 2 rows, but values of 1"));
  CHECK_THROWS_AS(svg(lacks), ArgumentError);
}

TEST_CASE("maps stand one below the other, and on a slide alone") {
  HeatMap second = map();
  second.title = "Differences";
  const std::string one = svg(map()), both = svg(std::vector{map(), second});
  const auto height = [](const std::string& image) {
    return std::stod(find_all(image, "height=\"([0-9.]+)\"").front());
  };
  CHECK(height(both) == Approx(2 * height(one)));
  CHECK(find_all(both, "class=\"title\"[^>]*>([^<]*)<") ==
        std::vector<std::string>{"Sums", "Differences"});
  const auto tops = find_all(both, "class=\"title\"[^>]*translate\\([0-9.]+ ([0-9.]+)\\)");
  CHECK(std::stod(tops[1]) == Approx(std::stod(tops[0]) + height(one)));
  CHECK_THROWS_WITH(svg(std::vector{map(), second}, Medium::slide),
                    Contains("svg: a slide shows one map, not 2"));
}
