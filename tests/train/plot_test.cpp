#include "tapegrad/train/plot.h"

#include <catch2/catch.hpp>
#include <cfloat>
#include <cmath>
#include <set>

#include "support/find_all.h"
#include "tapegrad/core/error.h"
#include "tapegrad/train/internal/canvas.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

std::string drawn(const std::vector<Series>& series, Medium medium = Medium::page) {
  return svg({{.title = "t", .x_label = "x", .y_label = "y", .series = series}}, medium);
}

std::string only(const std::string& text, const std::string& expression) {
  const std::vector<std::string> found = find_all(text, expression);
  REQUIRE(found.size() == 1);
  return found[0];
}

std::string path(const std::string& image, const std::string& classes) {
  return only(image, "<path class=\"" + classes + "\"[^>]* d=\"([^\"]*)\"");
}

// The heights of a path's corners. The frame of a diagram lies between 290 (below) and 60.
std::vector<double> heights(const std::string& path) {
  std::vector<double> found;
  for (const std::string& each : find_all(path, "[ML][0-9.]+ ([0-9.]+)"))
    found.push_back(std::stod(each));
  return found;
}

std::vector<std::string> texts(const std::string& image) {
  return find_all(image, "<text[^>]*>([^<]*)<");
}

const Series rising{"rising",
                    {{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}, {7, 7}, {8, 8}}};

}  // namespace

TEST_CASE("a band spans the deviations, and the axis the band") {
  const std::string image = drawn({{"a", {{0, 1}, {1, 3}}, {1, 2}}});
  // The y axis goes from 0 to 5.
  CHECK(heights(path(image, "band shade0")) == std::vector<double>{198, 60, 244, 290});
  CHECK(heights(path(image, "curve color0")) == std::vector<double>{244, 152});
  CHECK_THAT(texts(image), Catch::VectorContains(std::string("5")) &&
                               !Catch::VectorContains(std::string("6")) &&
                               Catch::VectorContains(std::string("+- standard deviation")));
}

TEST_CASE("a band lies behind all curves, in the color of its own") {
  const std::string image = drawn({{"a", {{0, 1}, {1, 3}}}, {"b", {{0, 1}, {1, 3}}, {1, 2}}});
  CHECK(image.find("class=\"band shade1\"") < image.find("class=\"curve"));
  CHECK_THAT(image, !Contains("\"band shade0\""));
  const auto dark = image.find("prefers-color-scheme: dark");
  for (const auto& [sheet, color] :
       {std::pair{image.substr(0, dark), "#bc4c00"}, std::pair{image.substr(dark), "#f0883e"}}) {
    CHECK_THAT(sheet, Contains(std::string(".color1 { stroke: ") + color));
    CHECK_THAT(sheet, Contains(std::string(".shade1 { fill: ") + color));
  }
}

TEST_CASE("without deviations there is no band, and none in the legend") {
  const std::string image = drawn({{"a", {{0, 1}, {1, 3}}}});
  CHECK_THAT(image, !Contains("\"band") && !Contains("deviation") && !Contains("\"legend swatch"));
}

TEST_CASE("logarithmic axes clip what a band has below them, and are labelled") {
  const std::string image = svg({{"t", "x", "y", {{"a", {{1, 10}, {2, 10}}, {5, 10}}}, true}});
  // The y axis goes from 5 to 20; the lower ends are 5 and 0.
  CHECK(heights(path(image, "band shade0")) == std::vector<double>{107.7, 60, 290, 290});
  CHECK_THAT(image, !Contains("nan") && !Contains("inf"));
  CHECK_THAT(image, Contains(">x (log scale)<") && Contains(">y (log scale)<"));
}

TEST_CASE("logarithmic axes leave out what is not positive") {
  const std::string image = svg({{"t", "x", "y", {{"a", {{1, 1}, {2, -1}, {4, 4}}}}, true}});
  CHECK(heights(path(image, "curve color0")) == std::vector<double>{290, 91.9});
}

TEST_CASE("points without a finite deviation are not part of a band") {
  const std::string image =
      drawn({{"a", {{0, 1}, {1, INFINITY}, {2, 1}, {3, 1}}, {1, NAN, NAN, 1}}});
  CHECK(heights(path(image, "band shade0")) == std::vector<double>{60, 60, 290, 290});
  CHECK_THAT(image, !Contains("nan") && !Contains("inf"));
}

TEST_CASE("points that no axis reaches are left out") {
  const double least = 5e-324;
  CHECK(drawn({{"a", {{-1, 1}, {0, 1}, {1, 3}, {1, DBL_MAX}, {2, NAN}, {DBL_MAX, 1}}}}) ==
        drawn({{"a", {{0, 1}, {1, 3}}}}));
  CHECK(drawn({{"a", {{0, 1}, {NAN, 1}, {INFINITY, 1}}, {1, 1, 1}}}) ==
        drawn({{"a", {{0, 1}}, {1}}}));
  const auto logarithmic = [](const Series& series) {
    return svg({{"t", "x", "y", {series}, true}});
  };
  CHECK(logarithmic({"a", {{-1, 1}, {0, 1}, {least, 1}, {1, 1}, {2, least}, {3, -1}, {4, 4}}}) ==
        logarithmic({"a", {{1, 1}, {4, 4}}}));
  CHECK(logarithmic({"a", {{0, 1}, {1, 10}, {2, -10}, {3, INFINITY}}, {5, 5, 5, 5}}) ==
        logarithmic({"a", {{1, 10}}, {5}}));
}

TEST_CASE("a band has no negative width") {
  const std::string image = drawn({{"a", {{0, 1}, {1, 3}, {2, 3}}, {1, -2, 2}}});
  CHECK(heights(path(image, "band shade0")) == std::vector<double>{198, 60, 244, 290});
  CHECK(heights(path(image, "curve color0")) == std::vector<double>{244, 152, 152});
}

TEST_CASE("text for pages has the characters that pages can hold") {
  CHECK(escaped("a < b & c > d") == "a &lt; b &amp; c &gt; d");
  CHECK(escaped(std::string("\x1b[0m\0\t\n", 7)) == "?[0m?\t\n");
  CHECK(escaped("\u00e9 \u2581") == "\u00e9 \u2581");
  CHECK(escaped("a\xff\uFFFF\xe2\x96") == "a\uFFFD\uFFFD\uFFFD");
}

TEST_CASE("a curve has a deviation at each of its points or at none") {
  CHECK_THROWS_WITH(drawn({{"a", {{0, 1}, {1, 3}}, {1}}}),
                    Contains("svg: a has 2 points, but 1 deviations"));
  CHECK_THROWS_AS(drawn({{"a", {{0, 1}}, {1, 2}}}), ArgumentError);
}

TEST_CASE("curves that coincide differ in dashes, marks and their places") {
  Series other = rising;
  other.name = "other";
  const std::string image = drawn({rising, other});
  CHECK(path(image, "curve color0") == path(image, "curve color1"));
  CHECK_THAT(image, Contains("<path class=\"curve color1\" stroke-dasharray="));
  CHECK_THAT(image, !Contains("<path class=\"curve color0\" stroke-dasharray="));
  CHECK(image.find("\"curve color0\"") < image.find("\"curve color1\""));  // dashes lie on top
  const std::vector<double> first = heights(path(image, "mark color0")),
                            second = heights(path(image, "mark color1"));
  CHECK(first.size() == 5);
  CHECK(second.size() == 4);
  for (const double height : first)
    CHECK(std::find(second.begin(), second.end(), height) == second.end());
}

TEST_CASE("curves that coincide have their marks at different points") {
  for (const int points : {9, 20, 30, 50, 1200}) {
    std::vector<Series> series;
    const int curves = (points + 4) / 5;  // as many as there are points to a mark
    for (int i = 0; i < std::min(curves, 6); ++i) {
      series.push_back({fmt::format("{}", i), {}});
      for (int x = 0; x < points; ++x) series.back().points.emplace_back(x, x);
    }
    std::set<std::string> first;
    for (const std::string& at :
         find_all(drawn(series), "<path class=\"mark color.\" d=\"(M[0-9.]+)"))
      first.insert(at);
    CHECK(first.size() == series.size());
  }
}

TEST_CASE("up to 32 curves differ in color, mark or dashes") {
  std::vector<Series> series;
  for (int i = 0; i < 32; ++i) series.push_back({fmt::format("{}", i), {{0, 1}, {1, i}}});
  const std::vector<std::string> samples =
      find_all(drawn(series), "<path class=\"legend curve (color[^>]*) d=");
  CHECK(std::set(samples.begin(), samples.end()).size() == 32);
}

TEST_CASE("a name looks the same in all diagrams") {
  const Series a{"a", {{0, 1}, {1, 2}}}, b{"b", {{0, 1}, {1, 2}}};
  const std::string image = svg({{"t", "x", "y", {a, b}}, {"t", "x", "y", {b}}});
  CHECK(find_all(image, "<path class=\"curve (color[^>]*) d=") ==
        std::vector<std::string>{"color0\"", "color1\" stroke-dasharray=\"10 6\"",
                                 "color1\" stroke-dasharray=\"10 6\""});
}

TEST_CASE("the legend lists curves from the highest end to the lowest") {
  const std::string image = drawn({{"middle", {{0, 9}, {1, 2}}},
                                   {"unfinished", {{0, 1}, {1, NAN}}},
                                   {"low", {{0, 5}, {1, -1}}},
                                   {"high", {{0, 0}, {1, 3}}},
                                   {"empty", {}}});
  CHECK(find_all(image, ">(middle|unfinished|low|high|empty)<") ==
        std::vector<std::string>{"high", "middle", "unfinished", "low", "empty"});
  // A name stands beside the sample of its own curve.
  CHECK(find_all(image, "<path class=\"legend mark (color.)\"") ==
        std::vector<std::string>{"color3", "color0", "color1", "color2", "color4"});
}

TEST_CASE("curves whose ends differ by rounding keep their order in the legend") {
  const std::string image =
      drawn({{"first", {{0, 0}, {1, 3}}}, {"second", {{0, 1}, {1, 3 + 1e-6}}}});
  CHECK(find_all(image, ">(first|second)<") == std::vector<std::string>{"first", "second"});
}

TEST_CASE("two strokes cut an axis that does not reach 0") {
  CHECK_THAT(drawn({{"a", {{0, 0}, {1, 3}}}}), !Contains("break"));
  CHECK_THAT(drawn({{"a", {{0, -1}, {1, 3}}}}), !Contains("break"));
  const std::vector<double> above = heights(path(drawn({{"a", {{0, 1}, {1, 2}}}}), "frame break"));
  const std::vector<double> below =
      heights(path(drawn({{"a", {{0, -1}, {1, -2}}}}), "frame break"));
  CHECK(above.size() == 2);
  CHECK(above[0] > 270);
  CHECK(below[0] < 80);
}

TEST_CASE("labels of huge values have exponents") {
  const std::vector<std::string> labels = texts(drawn({{"a", {{0, 0}, {1, 4e23}}}}));
  CHECK(std::find(labels.begin(), labels.end(), "2e+23") != labels.end());
  for (const std::string& label : labels) CHECK(label.size() < 12);
}

TEST_CASE("a dashed line stands at a mark that the axis reaches") {
  const auto lines = [](std::optional<double> mark) {
    Diagram diagram{"t", "x", "y", {rising}};
    diagram.x_mark = mark;
    return find_all(svg({diagram}), "dasharray=\"4 4\" d=\"M([0-9.]+) ");
  };
  CHECK(lines({}).empty());
  CHECK(lines(100).empty());
  REQUIRE(lines(2).size() == 1);
  CHECK(std::stod(lines(2)[0]) < std::stod(lines(4).at(0)));
  CHECK(lines(0).size() == 1);
  for (const double beyond :
       {-1.0, -DBL_MAX, DBL_MAX, -double{INFINITY}, double{INFINITY}, double{NAN}})
    CHECK(lines(beyond).empty());
}

TEST_CASE("a mark that a logarithmic axis does not reach is left out") {
  const auto image = [](std::optional<double> mark) {
    Diagram diagram{"t", "x", "y", {{"a", {{1, 1}, {4, 4}}}}, true};
    diagram.x_mark = mark;
    return svg({diagram});
  };
  CHECK_THAT(image(2), Contains("dasharray=\"4 4\""));
  for (const double beyond : {0.0, -1.0, 5e-324, DBL_MIN, 0.5, 8.0})
    CHECK(image(beyond) == image({}));
}

TEST_CASE("a caption is the description of its diagram") {
  const Diagram plain{"t", "x", "y", {rising}};
  CHECK_THAT(svg({plain}), !Contains("<desc>"));
  Diagram captioned = plain;
  captioned.caption = "It rises if a < b.";
  CHECK(only(svg({plain, captioned}), "<desc>([^<]*)</desc>") == "It rises if a &lt; b.");
}

TEST_CASE("labels of an axis do not overlap") {
  for (const Medium medium : {Medium::page, Medium::phone}) {
    const std::string image = drawn({{"a", {{0, 0}, {123456, 1e9}}}}, medium);
    double end = 0;
    for (const std::string& label :
         find_all(image, "<text class=\"\" text-anchor=\"middle\"([^<]*\\d)<")) {
      const std::string value = only(label, ">(\\d+)$");
      const double middle = std::stod(only(label, "translate\\(([0-9.]+)"));
      CHECK(middle - detail::text_width(value, 13) / 2 > end);
      end = middle + detail::text_width(value, 13) / 2;
    }
    CHECK(end > 0);
  }
  // Forty decades have more ticks than lines of text.
  const std::string image = svg({{"t", "x", "y", {{"a", {{1, 1e-20}, {2, 1e20}}}}, true}});
  const std::vector<std::string> places =
      find_all(image, "text-anchor=\"end\" transform=\"translate\\([0-9.]+ ([0-9.]+)\\)");
  REQUIRE(places.size() > 3);
  for (std::size_t i = 1; i < places.size(); ++i)
    CHECK(std::stod(places[i - 1]) - std::stod(places[i]) > 13);
}

TEST_CASE("on a phone the legend breaks into lines that fit") {
  std::vector<Series> series;
  for (int i = 0; i < 9; ++i) series.push_back({fmt::format("curve {}", i), {{0, 0}, {1, i}}});
  const std::string image = drawn(series, Medium::phone);
  CHECK_THAT(image, Contains("viewBox=\"0 0 360 "));
  const auto at = [&](const char* coordinate) {
    return find_all(image,
                    "<text [^>]*translate\\(" + std::string(coordinate) + "\\)\">curve \\d<");
  };
  const std::vector<std::string> across = at("([0-9.]+) [0-9.]+"), down = at("[0-9.]+ ([0-9.]+)");
  REQUIRE(across.size() == 9);
  for (const std::string& x : across) CHECK(std::stod(x) + detail::text_width("curve 8", 13) < 360);
  const std::size_t lines = std::set(down.begin(), down.end()).size();
  CHECK(lines > 1);
  CHECK(lines < 9);
}

TEST_CASE("a slide is 16:9 and light") {
  const std::string image = drawn({rising}, Medium::slide);
  CHECK_THAT(image, Contains("width=\"1280\" height=\"720\"") && Contains(">rising</text>"));
  CHECK_THAT(image, !Contains("prefers-color-scheme"));
}

TEST_CASE("the width of a text grows with its letters and its font") {
  CHECK(detail::text_width("", 13) == 0);
  CHECK(detail::text_width("abc", 26) == Approx(2 * detail::text_width("abc", 13)));
  CHECK(detail::text_width("\xc3\xa9\xce\xbc", 13) == Approx(detail::text_width("ab", 13)));
}
