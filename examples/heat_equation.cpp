// Solves the heat equation u_t = k u_xx with a network whose loss contains derivatives of its
// output (Raissi et al. 2019). Prints the falling loss, and the solution beside the exact one.
#include <tapegrad/tapegrad.h>

#include <numbers>

using namespace tapegrad;

const double k = 0.1, pi = std::numbers::pi;

// The temperature of a rod of length 1, initially sin(pi x), with both ends kept at 0.
//   x, t: (N, 1)   returns: (N, 1)
Tensor exact(const Tensor& x, const Tensor& t) { return exp(-k * pi * pi * t) * sin(pi * x); }

// The network's approximation of it. Same shapes.
Tensor solution(const Sequential& net, const Tensor& x, const Tensor& t) {
  return net(concat({x, t}, 1));
}

// u_t - k u_xx of the network at each of the points.
Tensor residual(const Sequential& net, const Tensor& points, const Tensor& times) {
  const Tensor x = watch(points), t = watch(times);
  const Tensor u = solution(net, x, t);
  // Each u depends only on its own x and t, so the gradient of their sum holds all their
  // derivatives. The sweeps are recorded, because u_x is differentiated again, and so is the loss.
  const std::vector<Tensor> slopes = grad(sum(u), std::vector{x, t}, {.record = true});
  const Tensor &u_x = slopes[0], &u_t = slopes[1];
  const Tensor u_xx = grad(sum(u_x), x, {.record = true});
  return u_t - k * u_xx;
}

int main() {
  Random random(1);
  const auto smooth = [](const Tensor& x) { return tanh(x); };  // a ReLU has no second derivative
  const Sequential net{Linear(2, 32, random), smooth, Linear(32, 32, random), smooth,
                       Linear(32, 1, random)};
  Adam adam(parameters(net));
  const Schedule rate = cosine(0.01, 2000);
  for (Index step = 0; step <= 2000; ++step) {
    adam.set_learning_rate(rate(step));
    const Tensor x = random.uniform({256, 1}), t = random.uniform({256, 1});
    const Tensor ends = random.bernoulli({64, 1}, 0.5);  // x = 0 or x = 1
    Tape tape;
    const Tensor equation = mean(square(residual(net, x, t)));
    const Tensor begin = mse(solution(net, x, zeros(t.shape())), sin(pi * x));
    const Tensor border = mean(square(solution(net, ends, random.uniform({64, 1}))));
    const Tensor loss = equation + begin + border;
    adam.step(grad(loss, adam.parameters()));
    if (step % 500 == 0) fmt::print("step {:4}: loss {:.2e}\n", step, loss.item());
  }

  const Tensor middle = full({5, 1}, 0.5), times = reshape(arange(5) * 0.25, {5, 1});
  const Tensor found = solution(net, middle, times), right = exact(middle, times);
  fmt::print("in the middle of the rod\n   t      u  exact\n");
  for (Index i = 0; i < 5; ++i)
    fmt::print("{:.2f}  {:.3f}  {:.3f}\n", times.data()[i], found.data()[i], right.data()[i]);

  const Tensor x = random.uniform({1000, 1}), t = random.uniform({1000, 1});
  const Tensor error = max(abs(solution(net, x, t) - exact(x, t)));
  fmt::print("largest error at 1000 points: {:.4f}\n", error.item());
}
