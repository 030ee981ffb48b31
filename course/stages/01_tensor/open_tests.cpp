// A few tests to begin with: g++ -std=c++20 tensor_tests.cpp && ./a.out
#include <cstdio>

#include "tensor.h"

void print(const char* name, const Tensor& x) {
  std::printf("%s has shape (", name);
  for (std::size_t i = 0; i < x.shape.size(); ++i) std::printf(i ? ", %d" : "%d", x.shape[i]);
  std::printf(") and values");
  for (const double each : x.values) std::printf(" %g", each);
}

int main() {
  const Tensor row{{3}, {1, 2, 3}}, column{{2, 1}, {10, 20}};
  print("row + column", row + column);
  std::printf(", must be (2, 3) and 11 12 13 21 22 23\n");
  print("the sum of row + column along axis 0", sum(row + column, 0));
  std::printf(", must be (1, 3) and 32 34 36\n");
}
