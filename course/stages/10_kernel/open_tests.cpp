// A few tests to begin with: g++ -std=c++20 kernel_tests.cpp && ./a.out
#include <cstdio>

#include "kernel.h"

void show(const char* what, const Tensor& x, const char* right) {
  std::printf("%s:", what);
  for (const double each : x.values) std::printf(" %g", each);
  std::printf(", must be %s\n", right);
}

int main() {
  Tape tape;
  const Variable x = tape.variable({{1, 4}, {1, 1, 3, 3}});
  const Variable g = tape.variable({{1, 4}, {4, 0, 0, 0}});
  const int before = tape.size();
  const Variable y = layer_norm_kernel(x, 0);
  std::printf("nodes: %d, must be 1\n", tape.size() - before);
  show("y", value(y), "-1 -1 1 1");
  const Variable dx = gradients(sum(sum(y * g, 1), 0), {x})[0];
  show("dl/dx", value(dx), "2 -2 0 0");

  const auto cubes = [](const Variable& at) { return sum(at * at * at, 0); };
  show("second derivatives of x x x", hessian_times(cubes, {{2}, {1, 2}}, {{2}, {1, 1}}), "6 12");

  try {
    const Variable again = gradients(sum(sum(dx * dx, 1), 0), {x})[0];
    show("the kernel, differentiated twice", value(again), "24 0 -12 -12");
  } catch (const std::exception& error) {
    std::printf("the kernel, differentiated twice: refused, %s\n", error.what());
  }
}
