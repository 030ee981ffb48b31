// A few tests to begin with: g++ -std=c++20 layer_norm_tests.cpp && ./a.out
#include "layer_norm.h"

#include <cstdio>

int main() {
  Tape tape;
  const Variable x = tape.variable({{1, 4}, {2, 4, 4, 6}});
  const Variable product = x * detach(x);
  const Tensor half = value(gradients(sum(product, 1), {x})[0]);
  std::printf("gradient of x detach(x) = (%g, ...), must be (2, ...)\n", half.values[0]);

  const Tensor z = value(layer_norm(x, 0.0));
  std::printf("layer_norm of (2, 4, 4, 6) = (%g, %g, %g, %g), must be (-1.41421, 0, 0, 1.41421)\n",
              z.values[0], z.values[1], z.values[2], z.values[3]);

  const Variable g = tape.variable({{1, 4}, {1, 0, 0, 0}});
  const Tensor slope = value(gradients(sum(layer_norm(x, 0.0) * g, 1), {x})[0]);
  std::printf("gradient for g = (1, 0, 0, 0): (%g, %g, %g, %g), must be (%g, %g, %g, %g)\n",
              slope.values[0], slope.values[1], slope.values[2], slope.values[3], 0.176777,
              -0.176777, -0.176777, 0.176777);
}
