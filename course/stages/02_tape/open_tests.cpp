// A few tests to begin with: g++ -std=c++20 tape_tests.cpp && ./a.out
#include <cstdio>

#include "tape.h"

void print(const char* name, const Tensor& x) {
  std::printf("%s has shape (", name);
  for (std::size_t i = 0; i < x.shape.size(); ++i) std::printf(i ? ", %d" : "%d", x.shape[i]);
  std::printf(") and values");
  for (const double each : x.values) std::printf(" %g", each);
}

int main() {
  Tape tape;
  const Variable x = tape.variable({{2, 3}, {1, 2, 3, 4, 5, 6}});
  const Variable b = tape.variable({{3}, {1, 0, 2}});
  const Variable y = sum(sum(x * b, 0), 1);
  print("y", value(y));
  std::printf(", must be (1, 1) and 23\n");
  const std::vector<Variable> d = gradients(y, {x, b});
  print("dy/dx", value(d[0]));
  std::printf(", must be (2, 3) and 1 0 2 1 0 2\n");
  print("dy/db", value(d[1]));
  std::printf(", must be (3) and 5 7 9\n");
}
