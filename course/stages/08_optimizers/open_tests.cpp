// A few tests to begin with: g++ -std=c++20 optimizers_tests.cpp && ./a.out
#include <cstdio>

#include "optimizers.h"

int main() {
  const std::vector<Tensor> one{{{}, {1}}}, minus_one{{{}, {-1}}};

  std::vector<Tensor> w{{{}, {0}}};
  Sgd momentum(0.1, 0.5);
  momentum.step(w, one);
  std::printf("momentum: w = %g, must be -0.1\n", w[0].values[0]);
  momentum.step(w, one);
  std::printf("momentum: w = %g, must be -0.25\n", w[0].values[0]);

  w = {{{}, {0}}};
  Adam adam(0.1);
  adam.step(w, one);
  std::printf("Adam: w = %g, must be -0.1\n", w[0].values[0]);
  adam.step(w, minus_one);
  std::printf("Adam: w = %g, must be -0.0947368\n", w[0].values[0]);

  // A ravine: w1 w1 / 2 + 50 w2 w2, from (1, 1).
  w = {{{2}, {1, 1}}};
  Adam down(0.01);
  for (int i = 0; i < 1000; ++i) down.step(w, {{{2}, {w[0].values[0], 100 * w[0].values[1]}}});
  std::printf("Adam in a ravine: w = (%.3f, %.3f), must be near (0, 0)\n", w[0].values[0],
              w[0].values[1]);
}
