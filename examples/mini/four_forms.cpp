// Prints the gradient of layer normalization in four forms: the mean and the deviation each
// attached to the sweep or detached from it. The path through the mean re-centers the gradient; the
// path through the deviation removes its part along y.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "tapegrad_mini.h"

using namespace tapegrad;

int main() {
  const Tensor g({4}, {3, 1, 0, 0});  // the gradient that arrives
  for (const bool mean_detached : {false, true})
    for (const bool scale_detached : {false, true}) {
      const Tape tape;
      const Tensor x = watch(Tensor({4}, {1, 2, 3, 6}));
      const Tensor y = layer_norm(
          x, {.epsilon = 0.25, .detach_mean = mean_detached, .detach_scale = scale_detached});
      const Tensor dx = grad(y, x, {.seed = g, .record = true});
      const Tensor second = grad(sum(square(dx) * x), x);
      std::printf("mean %s, deviation %s: dx", mean_detached ? "detached" : "attached",
                  scale_detached ? "detached" : "attached");
      for (const real value : dx.values()) std::printf(" %8.5f", value);
      std::printf("  of sum dx^2 x");
      for (const real value : second.values()) std::printf(" %7.4f", value);
      std::printf("  mean of dx %.4f\n", std::abs(mean(dx).item()));
    }
}
