#include "tapegrad/zoo/soft_window.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "models/nets.h"
#include "support/golden.h"
#include "tapegrad/core/error.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

const Indices characters({2, 4}, {2, 0, 1, 1, 1, 2, 0, 0}), lengths({2}, {4, 2});

// A window that takes 3 K numbers as they are.
SoftWindow plain_window(Index bumps) {
  Random random(1);
  const SoftWindow window(3 * bumps, random, bumps);
  Parameter weight = window.numbers.weight, bias = window.numbers.bias;
  weight.set(eye(3 * bumps));
  bias.set(zeros({3 * bumps}));
  return window;
}

}  // namespace

TEST_CASE("a text is one-hot up to its end", "[nn]") {
  const Tensor text = window_text(characters, lengths, 3);
  CHECK(relative_error(text, Tensor({2, 4, 3}, {0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0,  //
                                                0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0})) == 0);
}

TEST_CASE("windows are what loops over their bumps find", "[nn]") {
  constexpr Index batch = 2, bumps = 3, most = 4, count = 3;
  const Tensor text = window_text(characters, lengths, count);
  const SoftWindow window = plain_window(bumps);
  Tensor place = window.first(batch);
  Random random(2);
  for (int step = 0; step < 3; ++step) {
    const Tensor h = random.normal({batch, 3 * bumps});
    const auto [found, weight, next] = window(h, place, text);
    for (Index b = 0; b < batch; ++b) {
      std::vector<double> w(count, 0);
      for (Index u = 0; u < most; ++u) {
        double phi = 0;
        for (Index k = 0; k < bumps; ++k) {
          const real* numbers = h.data() + b * 3 * bumps;
          const double moved = place.data()[b * bumps + k] + std::exp(numbers[2 * bumps + k]);
          CHECK(next.data()[b * bumps + k] == Approx(moved));
          const double far = moved - static_cast<double>(u + 1);
          phi += std::exp(numbers[k]) * std::exp(-std::exp(numbers[bumps + k]) * far * far);
        }
        CHECK(weight.data()[b * most + u] == Approx(phi).margin(1e-6));
        if (u < lengths.data()[b])
          w[static_cast<std::size_t>(characters.data()[b * most + u])] += phi;
      }
      for (Index c = 0; c < count; ++c)
        CHECK(found.data()[b * count + c] == Approx(w[static_cast<std::size_t>(c)]).margin(1e-6));
    }
    CHECK(min(next - place).item() > 0);  // it never goes back
    place = next;
  }
}

TEST_CASE("a narrow window picks a letter", "[nn]") {
  const SoftWindow window = plain_window(1);
  const Tensor text = window_text(characters, lengths, 3);
  const Tensor h = broadcast_to(Tensor({3}, {0, 8, 0}), {2, 3});  // one on, in each step
  Tensor place = window.first(2);
  for (Index step = 0; step < 4; ++step) {
    const auto found = window(h, place, text);
    place = found.place;
    CHECK(relative_error(found.window, select(text, step, 1)) < 1e-6);
  }
}

TEST_CASE("a new window moves on as far as it should", "[nn]") {
  Random random(3);
  const SoftWindow window(5, random, 4, 0.03);
  const Tensor place = window(zeros({2, 5}), window.first(2), zeros({2, 4, 3})).place;
  CHECK(relative_error(place, zeros({2, 4}) + 0.03) < 1e-6);
}

TEST_CASE("derivatives of two steps of a window", "[nn]") {
  Random random(4);
  const SoftWindow window(5, random, 3, 0.5);
  const Tensor text = window_text(characters, lengths, 3), weights = random.normal({2, 3});
  const std::vector<Tensor> in{random.normal({2, 5}), random.normal({2, 5})};
  const Function steps = [&](const std::vector<Tensor>& h) {
    const auto first = window(h[0], window.first(2), text);
    return window(h[1], first.place, text).window * weights + first.window;
  };
  const CheckResult result = check_gradient(steps, in);
  INFO(result.message);
  CHECK(result);
  if constexpr (sizeof(real) == 8) CHECK(check_second_gradient(steps, in));
  check_parameters(window, [&] { return steps(in); });
}

TEST_CASE("windows refuse what does not fit by name", "[nn]") {
  Random random(5);
  CHECK_THROWS_AS(SoftWindow(5, random, 0), ArgumentError);
  CHECK_THROWS_WITH(SoftWindow(5, random, 2, 0), Contains("the advance must be positive"));
  CHECK_THROWS_WITH(window_text(characters, Indices({2}, {5, 1}), 3), Contains("window_text"));
  CHECK_THROWS_AS(window_text(characters, lengths, 2), ShapeError);
  CHECK_THROWS_WITH(window_text(lengths, lengths, 3), Contains("needs characters (B, U): (2)"));
  const SoftWindow window(5, random, 2);
  const Tensor text = window_text(characters, lengths, 3);
  CHECK_THROWS_WITH(window(zeros({2, 5}), zeros({2, 3}), text),
                    Contains("places (B, 2): (2, 4, 3) and (2, 3)"));
  CHECK_THROWS_AS(window(zeros({2, 5}), zeros({3, 2}), text), ShapeError);
}
