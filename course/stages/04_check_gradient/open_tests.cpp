// A few tests to begin with: g++ -std=c++20 check_gradient_tests.cpp && ./a.out
#include "check_gradient.h"

#include <cstdio>

int main() {
  const Function product = [](const std::vector<Variable>& in) { return in[0] * in[1]; };
  const bool found = check_gradient(product, {filled({}, 2), filled({}, 3)}).has_value();
  std::printf("x y at (2, 3) %s, must pass\n", found ? "differs" : "passes");

  // A square whose rule says 3 x where the slope is 2 x.
  const Function wrong = [](const std::vector<Variable>& in) {
    const Variable x = in[0];
    const Tensor square = value(x) * value(x);
    return x.tape->record(square, {{x, [x](const Variable& g) { return g * (x + x + x); }}});
  };
  const std::optional<Mismatch> mismatch = check_gradient(wrong, {filled({}, 2)});
  if (mismatch)
    std::printf("by tape %g, must be 6; by differences %g, must be about 4\n", mismatch->by_tape,
                mismatch->by_difference);
  else
    std::printf("the wrong rule passes, and must not\n");
}
