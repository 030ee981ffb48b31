// Shows what a tape is and how it yields a gradient. Prints the tape of y = a b + sin a, and
// derivatives of y, each beside its formula.
#include <tapegrad/tapegrad.h>

#include <cmath>

using namespace tapegrad;

int main() {
  Tape tape;  // operations are recorded from here on
  const Tensor a = watch(2.0), b = watch(3.0);
  const Tensor product = a * b;
  const Tensor y = product + sin(a);
  print(tape);

  // One sweep, from y back over the tape, gives both. The sweep is itself recorded, so the second
  // derivative is the gradient of the first.
  const std::vector<Tensor> gradient = grad(y, std::vector{a, b}, {.record = true});
  const Tensor curvature = grad(gradient[0], a);

  fmt::print("              by grad   by formula\n");
  fmt::print("dy/da     {:>11.6f}  {:>11.6f}  b + cos a\n", gradient[0].item(), 3 + std::cos(2.0));
  fmt::print("dy/db     {:>11.6f}  {:>11.6f}  a\n", gradient[1].item(), 2.0);
  fmt::print("d2y/da2   {:>11.6f}  {:>11.6f}  -sin a\n", curvature.item(), -std::sin(2.0));
}
