// What detaching the statistics of layer normalization does to the gradient: Theorem 1 of Xu et
// al. 2019, "Understanding and Improving Layer Normalization", for one row x of H elements. With
// y = (x - mean) / s, s = sqrt(v + epsilon) and g = dl/dy, the mean and the variance of dl/dx are
// compared with their exact values, which follow from those of g, p = mean(g y) and r = v / s^2.

#include <algorithm>
#include <cmath>

#include "tapegrad/tapegrad.h"

using namespace tapegrad;

int main() {
  constexpr Index H = 512;
  constexpr double epsilon = 1e-5;
  Random random(1);
  const Tensor x = random.normal({H}, 3, 2), g = random.normal({H}) + 0.3 * x;

  const double s = std::sqrt(var(x).item() + epsilon), r = var(x).item() / (s * s);
  const double g_mean = mean(g).item(), g_variance = var(g).item();
  const double p = mean(g * layer_norm(x, {.epsilon = epsilon})).item();
  const double projected = g_variance - p * p * (2 - r);  // what is left without g's part along y

  struct Case {
    const char* detached;
    NormOptions options;
    double mean, variance;
  };
  const Case cases[] = {
      {"none", {epsilon, false, false}, 0, projected / (s * s)},
      {"mean", {epsilon, true, false}, g_mean / s, projected / (s * s)},
      {"scale", {epsilon, false, true}, 0, g_variance / (s * s)},
      {"both", {epsilon, true, true}, g_mean / s, g_variance / (s * s)},
  };

  fmt::print("{:9}{:>21}{:>21}{:>21}{:>21}\n", "detached", "mean of dl/dx", "exact",
             "variance of dl/dx", "exact");
  double largest = 0;
  for (const Case& c : cases) {
    Tape tape;
    const Tensor leaf = watch(x);
    const Tensor gradient = grad(sum(layer_norm(leaf, c.options) * g), leaf);
    const double found_mean = mean(gradient).item(), found_variance = var(gradient).item();
    fmt::print("{:9}{:21.15f}{:21.15f}{:21.15f}{:21.15f}\n", c.detached, found_mean, c.mean,
               found_variance, c.variance);
    largest =
        std::max({largest, std::abs(found_mean - c.mean), std::abs(found_variance - c.variance)});
  }
  fmt::print("largest difference: {:.1e}\n", largest);
  return largest < 1e-12 ? 0 : 1;
}
