#include <tapegrad/linalg.h>

#include <cmath>

using namespace tapegrad;

int main() {
  const Tape tape;
  const Tensor a = watch(Tensor({2, 2}, {4, 1, 1, 3}));
  const Tensor gradient = grad(logdet(a), a), expected = solve(a, eye(2));
  return max(abs(gradient - expected)).item() < 1e-6 &&
                 std::abs(logdet(a).item() - std::log(11)) < 1e-6
             ? 0
             : 1;
}
