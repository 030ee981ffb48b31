#include <tapegrad/tapegrad.h>

#include <cmath>

static_assert(sizeof(tapegrad::real) == sizeof(float));

double accurate_slope_of_cube(double at);

int main() {
  using namespace tapegrad;
  const Tape tape;
  const Tensor x = watch(0.1);
  const double error = std::abs(double{grad(x * x * x, x).item()} - 0.03);
  const double accurate_error = std::abs(accurate_slope_of_cube(0.1) - 0.03);
  return error < 1e-8 && accurate_error < 1e-16 && accurate_error < error ? 0 : 1;
}
