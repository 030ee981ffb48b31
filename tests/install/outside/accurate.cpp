#include <tapegrad/tapegrad.h>

static_assert(sizeof(tapegrad::real) == sizeof(double));

/// The derivative of x^3, in double precision.
double accurate_slope_of_cube(double at) {
  using namespace tapegrad;
  const Tape tape;
  const Tensor x = watch(at);
  return grad(x * x * x, x).item();
}
