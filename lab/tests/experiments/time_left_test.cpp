#include "experiments/time_left.h"

#include <catch2/catch.hpp>

#include "tapegrad/core/real.h"

using namespace tapegrad::lab;

TEST_CASE("the time left follows the runs timed, and for other kinds their guess") {
  TimeLeft left;
  left.expect("short", 3, 10);
  left.expect("long", 2, 100);
  CHECK(left.runs() == 5);
  CHECK(left.seconds() == 230);
  left.trained("short", 20);  // twice the guess
  CHECK(left.seconds() == 2 * 20 + 2 * 200);
  left.trained("short", 10);
  left.trained("long", 90);
  CHECK(left.seconds() == 1 * 15 + 1 * 90);
  CHECK(left.to_string() == "2 runs left, about 0:01:45");
  left.expect("long", 41, 100);
  CHECK(left.to_string() == "42 runs left, about 1:01:45");
}
