// Compares a Hessian-vector product with the product of the Hessian that the formula gives, and
// finds the greatest curvature of a small net by power iteration.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "tapegrad_mini.h"

using namespace tapegrad;

// Numbers in [-1, 1) from a small generator, so that every engine sees the same.
struct Numbers {
  std::uint64_t state = 1;
  double next() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 11) / 4503599627370496.0 - 1;
  }
  Index below(Index count) { return static_cast<Index>((next() + 1) / 2 * count); }
  Tensor tensor(const Shape& shape, double scale = 1) {
    std::vector<real> values(shape.size());
    for (real& value : values) value = static_cast<real>(scale * next());
    return Tensor(shape, values);
  }
};

int main() {
  const Tensor x({3}, {0.5, -1, 2}), v({3}, {1, 2, -1});
  const Tensor product = hvp([](const Tensor& t) { return sum(exp(t) + t * t * t); }, x, v);
  for (Index i = 0; i < 3; ++i)  // the Hessian is diagonal: e^x + 6 x
    std::printf("by hvp %9.4f, by formula %9.4f\n", product.data()[i],
                (std::exp(x.data()[i]) + 6 * x.data()[i]) * v.data()[i]);

  Numbers numbers;
  const Tensor inputs = numbers.tensor({16, 3}), targets = numbers.tensor({16, 2});
  const auto loss = [&](const Tensor& weight) {
    return mse(tanh(matmul(inputs, reshape(weight, {3, 2}))), targets);
  };
  const Tensor weight = numbers.tensor({6});
  Tensor direction = numbers.tensor({6});
  for (int step = 1; step <= 40; ++step) {
    const Tensor turned = hvp(loss, weight, direction);
    const Tensor length = sqrt(sum(square(turned)));
    if (step % 10 == 0) std::printf("step %2d: curvature %.4f\n", step, length.item());
    direction = turned / length;
  }
}
