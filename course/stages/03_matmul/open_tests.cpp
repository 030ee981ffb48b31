// A few tests to begin with: g++ -std=c++20 matmul_tests.cpp && ./a.out
#include <cstdio>

#include "matmul.h"

void print(const char* name, const Tensor& x) {
  std::printf("%s has shape (", name);
  for (std::size_t i = 0; i < x.shape.size(); ++i) std::printf(i ? ", %d" : "%d", x.shape[i]);
  std::printf(") and values");
  for (const double each : x.values) std::printf(" %g", each);
}

int main() {
  Tape tape;
  const Variable a = tape.variable({{2, 2}, {1, 2, 3, 4}});
  const Variable b = tape.variable({{2, 1}, {5, 6}});
  const Variable c = matmul(a, b);
  print("a b", value(c));
  std::printf(", must be (2, 1) and 17 39\n");
  const std::vector<Variable> d = gradients(sum(c, 0), {a, b});
  print("d/da of its sum", value(d[0]));
  std::printf(", must be (2, 2) and 5 6 5 6\n");
  print("d/db of its sum", value(d[1]));
  std::printf(", must be (2, 1) and 4 6\n");
}
