// A few tests to begin with: g++ -std=c++20 forms_tests.cpp && ./a.out
// Where 0 is right, rounding may leave -0.000000.
#include "forms.h"

#include <cstdio>

int main() {
  const Tensor x{{1, 4}, {2, 4, 4, 6}}, g{{1, 4}, {1, 0, 0, 0}};
  const double right[4][3] = {
      {0, 0, 0.176777}, {0.176777, 0, 0.25}, {0, -0.25, 0.306186}, {0.176777, -0.25, 0.353553}};
  int form = 0;
  for (const bool detach_deviation : {false, true})
    for (const bool detach_mean : {false, true}) {
      const Row row = measure(x, g, detach_mean, detach_deviation)[0];
      const double* must = right[form++];
      std::printf("mean %s, deviation %s:\n", detach_mean ? "detached" : "attached",
                  detach_deviation ? "detached" : "attached");
      std::printf("  mean %.6f, along z %.6f, size %.6f\n", row.mean, row.along_z, row.size);
      std::printf("  must be %.6f, %.6f and %.6f\n", must[0], must[1], must[2]);
    }
}
