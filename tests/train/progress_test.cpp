#include "tapegrad/train/progress.h"

#include <catch2/catch.hpp>

#include "support/said.h"

using namespace tapegrad;
using namespace tapegrad::testing;

// Where the tests write to, standard error is a file: no bar.

TEST_CASE("without a terminal, a line follows when ten seconds have passed since the last") {
  double now = 1000;
  const auto steps = [&](Progress& progress) {
    for (Index step = 1; step <= 30; ++step) {
      now += 3;
      progress.step(step, 1.0 / static_cast<double>(step));
      if (step == 8) progress.line("epoch 1");
    }
  };
  const std::string said = said_by([&] {
    Progress progress(50, 0, false, [&] { return now; });
    steps(progress);
    CHECK(progress.seconds() == 90);
  });
  CHECK(said ==
        "8%: 0.3 steps/s, loss 0.2500, 2:18 left\n"     // after 12 seconds
        "16%: 0.3 steps/s, loss 0.1250, 2:06 left\n"    // after 24
        "epoch 1\n"                                     // at once
        "24%: 0.3 steps/s, loss 0.0833, 1:54 left\n"    // 12 seconds later
        "32%: 0.3 steps/s, loss 0.0625, 1:42 left\n"    //
        "40%: 0.3 steps/s, loss 0.0500, 1:30 left\n"    //
        "48%: 0.3 steps/s, loss 0.0417, 1:18 left\n"    //
        "56%: 0.3 steps/s, loss 0.0357, 1:06 left\n");  // 84 seconds after the start
  CHECK(said_by([&] {
          Progress progress(50, 0, true, [&] { return now; });
          steps(progress);
        }).empty());
}

TEST_CASE("the rate of a resumed run counts its own steps") {
  double now = 0;
  CHECK(said_by([&] {
          Progress progress(8000, 2000, false, [&] { return now; });
          now = 10;
          progress.step(2100, 0.5);
        }) == "26%: 10.0 steps/s, loss 0.5000, 9:50 left\n");
}
