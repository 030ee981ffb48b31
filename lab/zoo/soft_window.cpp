#include "tapegrad/zoo/soft_window.h"

#include <cmath>

#include "tapegrad/core/error.h"
#include "tapegrad/core/options.h"
#include "tapegrad/nn/functions/recurrent.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"

namespace tapegrad::TAPEGRAD_SCALAR {

Tensor window_text(const Indices& characters, const Indices& lengths, Index count, Place place) {
  const PlaceScope caller(place);
  expect(characters.shape().rank() == 2, "window_text: needs characters (B, U): {}",
         characters.shape());
  const Index batch = characters.shape()[0], longest = characters.shape()[1];
  expect_lengths("window_text", lengths, longest, batch);
  const Tensor within = transpose(running(lengths, 0, longest), 0, 1);
  return one_hot(characters, count) * within;
}

SoftWindow::SoftWindow(Index in, Random& random, Index bumps, double advance)
    : numbers(in, 3 * expect_positive("SoftWindow", "bumps", bumps), random) {
  expect<ArgumentError>(advance > 0 && std::isfinite(advance),
                        "SoftWindow: the advance must be positive and finite: {}", advance);
  const Shape part{bumps};
  numbers.bias.set(concat({zeros(part), zeros(part), zeros(part) + std::log(advance)}));
}

SoftWindow::Result SoftWindow::operator()(const Tensor& h, const Tensor& place, const Tensor& text,
                                          Place caller_place) const {
  const PlaceScope caller(caller_place);
  expect_defined("SoftWindow", h, place, text);
  const Index batch = place.shape()[0], k = bumps();
  expect(text.rank() == 3 && text.shape()[0] == batch && place.shape() == Shape{batch, k},
         "SoftWindow: needs a text (B, U, C) and places (B, {}): {} and {}", k, text.shape(),
         place.shape());
  const auto parts = split(exp(numbers(h)), {k, k, k}, -1);
  const Tensor places = place + parts[2];
  const auto each_bump = [&](const Tensor& x) { return reshape(x, {batch, k, 1}); };
  const Tensor distance = each_bump(places) - (arange(text.shape()[1]) + 1.0);
  const Tensor bumps = exp(-(each_bump(parts[1]) * square(distance)));
  const Tensor weight = matmul(reshape(parts[0], {batch, 1, k}), bumps);  // (B, 1, U)
  return {.window = select(matmul(weight, text), 0, 1),
          .weight = select(weight, 0, 1),
          .place = places};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
