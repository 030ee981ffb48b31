#include "tapegrad/nn/optimizers/schedule.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "support/golden.h"
#include "tapegrad/core/error.h"
#include "tapegrad/nn/optimizers/gradients.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

// The rate of each step is the one in a file of tests/golden.
void check_rates(const char* file, const char* row, const Schedule& schedule) {
  INFO(row);
  const Tensor expected = golden(file, row).value;
  for (Index step = 0; step < expected.size(); ++step)
    CHECK(schedule(step) == Approx(double{expected.data()[step]}).epsilon(1e-6));
}

}  // namespace

TEST_CASE("schedules follow their formulas", "[nn]") {
  const Schedule warm = warmup_inverse_sqrt(2, 10, 1);
  CHECK(warm(0) == Approx(1));
  CHECK(warm(5) == Approx(1.5));
  CHECK(warm(10) == Approx(2));
  CHECK(warm(40) == Approx(1));
  const Schedule wave = cosine(1, 110, 0.2, 10);
  CHECK(wave(0) == Approx(0));
  CHECK(wave(10) == Approx(1));
  CHECK(wave(60) == Approx(0.6));
  CHECK(wave(110) == Approx(0.2));
  CHECK(wave(1000) == Approx(0.2));
  CHECK(step_decay(1, 10, 0.5)(19) == Approx(0.5));
  CHECK(step_decay(1, 10, 0.5)(20) == Approx(0.25));
  CHECK(exponential(3, 0.9)(2) == Approx(2.43));
  CHECK(constant(3)(99) == 3);
  CHECK_THROWS_AS(cosine(1, 5, 0, 5), ArgumentError);
  CHECK_THROWS_AS(step_decay(1, 0), ArgumentError);
}

TEST_CASE("a plateau lowers the rate", "[nn]") {
  // torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer of rate 1, factor=0.5, patience=1,
  // threshold=0.1, cooldown=1, min_lr=0.2) on the same measures
  Plateau plateau(1, {.factor = 0.5, .patience = 1, .threshold = 0.1, .cooldown = 1, .least = 0.2});
  const double measures[] = {3, 2, 1.9, 1.9, 1.9, 1.9, 1.9, 1.0, 1, 1, 1, 1, 1, 1};
  const double rates[] = {1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2, 0.2, 0.2};
  for (int i = 0; i < 14; ++i) {
    CAPTURE(i);
    CHECK(plateau.next(measures[i]) == Approx(rates[i]));
  }
  CHECK_THROWS_AS(Plateau(1, {.factor = 1}), ArgumentError);
}

TEST_CASE("a plateau of measures below 0 lowers the rate", "[nn]") {
  Plateau still(0.1, {.patience = 1});
  for (int i = 0; i < 8; ++i) still.next(-1);
  CHECK(still.learning_rate() == Approx(1e-4));  // at the third, fifth and seventh
  CHECK(still.state().best == -1);

  Plateau falling(1, {.patience = 0, .threshold = 0.1});
  CHECK(falling.next(0.5) == 1);
  CHECK(falling.next(0) == 1);
  CHECK(falling.next(-1) == 1);
  CHECK(falling.next(-1.2) == 1);            // below -1.1
  CHECK(falling.next(-1.3) == Approx(0.1));  // not below -1.32
  CHECK(falling.state().best == -1.2);
}

TEST_CASE("a plateau continues from its state", "[nn]") {
  const PlateauOptions options{.factor = 0.5, .patience = 1, .cooldown = 1};
  Plateau whole(1, options), second(7, options);
  for (const double measure : {3.0, 3.0, 3.0, 3.0}) whole.next(measure);
  second.restore(whole.state());
  CHECK(second.learning_rate() == 0.5);
  for (const double measure : {3.0, 3.0, 2.0, 3.0, 3.0})
    CHECK(second.next(measure) == whole.next(measure));
  CHECK_THROWS_WITH(
      second.restore({.learning_rate = 1, .best = std::nan(""), .failed = 0, .cooling = 0}),
      "plateau: best is not a number: nan");
  CHECK_THROWS_WITH(second.restore({.learning_rate = 1, .best = 1, .failed = -1, .cooling = 0}),
                    "plateau: failed must not be negative: -1");
}

TEST_CASE("cycles and sequences are PyTorch's, and stay at their end", "[nn]") {
  check_rates("schedules.json", "one_cycle", one_cycle(0.5, 20));
  check_rates("schedules.json", "one_cycle_options",
              one_cycle(0.5, 13, {.rising = 0.5, .start_divisor = 10, .final_divisor = 100}));
  CHECK(one_cycle(0.5, 20)(100) == one_cycle(0.5, 20)(19));
  CHECK(one_cycle(1, 1)(0) == Approx(1 / 25e4));
  const Schedule chain =
      sequential({constant(0.5), exponential(0.5, 0.9), step_decay(0.5, 3, 0.1)}, {4, 9});
  check_rates("schedules.json", "sequential", chain);
}

TEST_CASE("schedules and clippings are PyTorch's", "[nn]") {
  const auto check = [](const char* row, const Schedule& schedule) {
    check_rates("training.json", row, schedule);
  };
  check("constant", constant(0.5));
  check("cosine", cosine(0.5, 20, 0.1));
  check("step", step_decay(0.5, 7, 0.3));
  check("exponential", exponential(0.5, 0.9));

  const Golden by_norm = golden("training.json", "clip_by_global_norm");
  std::vector<Tensor> gradients = by_norm.inputs;
  CHECK(clip_by_global_norm(gradients, 1.5) == Approx(double{by_norm.value.item()}));
  // PyTorch divides by the norm + 1e-6
  for (int i : {0, 1}) CHECK(relative_error(gradients[i], by_norm.gradients[i]) < 1e-5);
  const Golden by_value = golden("training.json", "clip_by_value");
  gradients = by_value.inputs;
  clip_by_value(gradients, 0.3);
  for (int i : {0, 1})
    CHECK(relative_error(gradients[i], by_value.gradients[i]) < golden_tolerance);
}
