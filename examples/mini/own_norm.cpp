// Defines a normalization by the mean absolute deviation, checks its gradient against finite
// differences, and shows what detaching the deviation changes.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "tapegrad_mini.h"

using namespace tapegrad;

// Numbers in [-1, 1) from a small generator, so that every engine sees the same.
struct Numbers {
  std::uint64_t state = 1;
  double next() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 11) / 4503599627370496.0 - 1;
  }
  Index below(Index count) { return static_cast<Index>((next() + 1) / 2 * count); }
  Tensor tensor(const Shape& shape, double scale = 1) {
    std::vector<real> values(shape.size());
    for (real& value : values) value = static_cast<real>(scale * next());
    return Tensor(shape, values);
  }
};

Tensor centered(const Tensor& x) { return x - mean(x, -1, Keep::yes); }
Tensor deviation(const Tensor& x) { return mean(abs(centered(x)), -1, Keep::yes) + 1e-5; }

int main() {
  const Tensor x({2, 4}, {1, 2, 5, 8, -3, 0, 2, 6});
  const Function attached = [](const std::vector<Tensor>& in) {
    return centered(in[0]) / deviation(in[0]);
  };
  const Tensor fixed = deviation(x);
  const Function frozen = [&](const std::vector<Tensor>& in) { return centered(in[0]) / fixed; };
  std::printf("attached, against differences: %s\n",
              check_gradient(attached, {x}) ? "ok" : "wrong");
  std::printf("with a fixed deviation: %s\n", check_gradient(frozen, {x}) ? "ok" : "wrong");
  std::printf("second derivatives: %s\n", check_second_gradient(attached, {x}) ? "ok" : "wrong");

  Numbers numbers;
  const Tensor g = numbers.tensor(x.shape());
  for (const bool detached : {false, true}) {
    const Tape tape;
    const Tensor leaf = watch(x), s = deviation(leaf);
    const Tensor y = centered(leaf) / (detached ? detach(s) : s);
    const Tensor dx = grad(y, leaf, {.seed = g});
    std::printf("%s:", detached ? "detached" : "attached");
    for (const real value : dx.values()) std::printf(" %.4f", value);
    std::printf("\n");
  }
}
