// Defines a normalization that the library does not have, with a statistic that the backward sweep
// treats as a constant. Prints whether its gradient is right, and how a network with it learns.
#include <tapegrad/tapegrad.h>

using namespace tapegrad;

// Rows are centered by their mean and divided by their mean absolute deviation.   x: (..., C)
Tensor centered(const Tensor& x) { return x - mean(x, -1, Keep::yes); }
Tensor deviation(const Tensor& x) { return mean(abs(centered(x)), -1, Keep::yes) + 1e-5; }

// With gain and bias, like layer normalization. No gradient flows through the deviation.
struct AbsoluteNorm {
  Parameter gain, bias;
  explicit AbsoluteNorm(Index channels) : gain(ones({channels})), bias(zeros({channels})) {}
  Tensor operator()(const Tensor& x) const {
    return centered(x) / detach(deviation(x)) * gain + bias;
  }
  void visit(Fields& field) const {
    field("gain", gain);
    field("bias", bias);
  }
};

// Finite differences let the deviation change, so they check the norm without `detach`. With it,
// the sweep must find the gradient of the function in which the deviation is a fixed number.
bool gradients_are_right() {
  const Tensor x({2, 4}, {1, 2, 5, 8, -3, 0, 1, 6});
  const Tensor fixed = deviation(x);
  const Function attached = [](const auto& in) { return centered(in[0]) / deviation(in[0]); };
  const Function frozen = [&](const auto& in) { return centered(in[0]) / fixed; };
  const CheckResult first = check_gradient(attached, {x}), second = check_gradient(frozen, {x});
  fmt::print("without detach, against differences: {}\n", first ? "ok" : first.message);
  fmt::print("deviation fixed, against differences: {}\n", second ? "ok" : second.message);

  const Tensor weights = Random(1).normal(x.shape());
  Tape tape;
  const Tensor leaf = watch(x);
  const Tensor by_detach = grad(sum(AbsoluteNorm(4)(leaf) * weights), leaf);
  const Tensor by_fixed = grad(sum(frozen({leaf}) * weights), leaf);
  const double difference = max(abs(by_detach - by_fixed)).item();
  fmt::print("detached, against deviation fixed: largest difference {:.1e}\n", difference);
  return first && second && difference < 1e-5;
}

// Whether both coordinates of a point have the same sign.
Indices quadrants(const Tensor& points) {
  std::vector<Index> labels;
  for (Index i = 0; i < points.size(); i += 2)
    labels.push_back(points.data()[i] * points.data()[i + 1] > 0);
  return Indices({points.shape()[0]}, labels);
}

int main() {
  const bool right = gradients_are_right();

  Random random(1);
  const Sequential net{Linear(2, 32, random), AbsoluteNorm(32),
                       [](const Tensor& x) { return tanh(x); }, Linear(32, 2, random)};
  Adam adam(parameters(net), {.learning_rate = 0.01});
  for (int step = 0; step <= 300; ++step) {
    const Tensor points = random.normal({64, 2});
    Tape tape;
    const Tensor loss = cross_entropy(net(points), quadrants(points));
    adam.step(grad(loss, adam.parameters()));
    if (step % 100 == 0) fmt::print("step {:3}: loss {:.4f}\n", step, loss.item());
  }
  const Tensor unseen = random.normal({1000, 2});
  const Indices found = argmax(net(unseen)), labels = quadrants(unseen);
  Index hits = 0;
  for (Index i = 0; i < 1000; ++i) hits += found.data()[i] == labels.data()[i];
  fmt::print("{} of 1000 unseen points are classified correctly\n", hits);
  return right ? 0 : 1;
}
