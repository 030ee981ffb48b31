#include "data/drawing.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "support/find_all.h"

using namespace tapegrad;
using namespace tapegrad::support;
using namespace tapegrad::testing;
using Catch::Contains;

TEST_CASE("what has no finite place is left out of a drawing") {
  Drawing drawing(10, 10), rest(10, 10);
  for (const double nowhere : {double{NAN}, double{INFINITY}, -double{INFINITY}}) {
    drawing.words({nowhere, 1}, "a");
    drawing.box({1, 1}, nowhere, 2);
    drawing.box({1, nowhere}, 2, 2);
    drawing.line({{1, 2}, {nowhere, 3}, {3, 4}});
    rest.line({{1, 2}, {3, 4}});
    drawing.area({{nowhere, 2}});
    rest.area({});
  }
  CHECK(drawing.svg() == rest.svg());
  CHECK_THAT(rest.svg(), Contains("<path class=\"area \" d=\"\"/>"));
}

TEST_CASE("an arrow has a direction, or no head") {
  Drawing drawing(10, 10);
  drawing.arrow({1, 1}, {1, 1});
  CHECK_THAT(drawing.svg(), !Contains("nan"));
}

TEST_CASE("an image has no ink where there is no number") {
  Drawing drawing(10, 10);
  const std::vector<real> ink{NAN, 1, 2, -INFINITY, INFINITY, 0};
  drawing.image({0, 0}, 3, ink, 1);
  CHECK(find_all(drawing.svg(), "<path opacity=\"1\" d=\"([^\"]*)\"") ==
        std::vector<std::string>{"M1 0h2M1 1h1"});
  CHECK(count(drawing.svg(), "opacity=") == 1);
}
