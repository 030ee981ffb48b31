// A few tests to begin with: g++ -std=c++20 cross_entropy_tests.cpp && ./a.out
#include "cross_entropy.h"

#include <cmath>
#include <cstdio>

int main() {
  Tape tape;
  const Variable x = tape.variable({{1, 2}, {0, std::log(3.0)}});
  const Tensor p = value(softmax(x));
  std::printf("softmax = (%g, %g), must be (0.25, 0.75)\n", p.values[0], p.values[1]);

  const Variable loss = cross_entropy(x, {0});
  const Tensor slope = value(gradients(loss, {x})[0]);
  std::printf("cross entropy = %g, must be %g\n", value(loss).values[0], std::log(4.0));
  std::printf("its gradient = (%g, %g), must be (-0.75, 0.75)\n", slope.values[0], slope.values[1]);

  const Tensor large = value(log_softmax(tape.variable({{1, 2}, {1e4, 0}})));
  std::printf("log_softmax of (10000, 0) = (%g, %g), must be (0, -10000)\n", large.values[0],
              large.values[1]);
}
