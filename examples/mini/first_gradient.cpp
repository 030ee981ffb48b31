// Prints first and second derivatives of y = a b + sin a, each beside its formula.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "tapegrad_mini.h"

using namespace tapegrad;

int main() {
  const Tape tape;  // operations are recorded from here on
  const Tensor a = watch(2.0), b = watch(3.0);
  const Tensor y = a * b + sin(a);
  const std::vector<Tensor> gradient = grad(y, std::vector<Tensor>{a, b}, {.record = true});
  const Tensor curvature = grad(gradient[0], a);
  std::printf("          by grad   by formula\n");
  std::printf("dy/da   %9.5f    %9.5f  b + cos a\n", gradient[0].item(), 3 + std::cos(2.0));
  std::printf("dy/db   %9.5f    %9.5f  a\n", gradient[1].item(), 2.0);
  std::printf("d2y/da2 %9.5f    %9.5f  -sin a\n", curvature.item(), -std::sin(2.0));
}
