// A few tests to begin with: g++ -std=c++20 scalar_tape_tests.cpp && ./a.out
#include <cstdio>

#include "scalar_tape.h"

int main() {
  Tape tape;
  const Number x = tape.variable(2), y = tape.variable(3);
  const Number z = x * y + x;
  const std::vector<double> d = gradients(z, {x, y});
  std::printf("z = %g, must be 8\n", value(z));
  std::printf("dz/dx = %g, must be 4; dz/dy = %g, must be 2\n", d[0], d[1]);
}
