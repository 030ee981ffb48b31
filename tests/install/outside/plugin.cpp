#include <tapegrad/tapegrad.h>

/// The derivative of x^3.
extern "C" double slope_of_cube(double at) {
  using namespace tapegrad;
  const Tape tape;
  const Tensor x = watch(at);
  return grad(x * x * x, x).item();
}
