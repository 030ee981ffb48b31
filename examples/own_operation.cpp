// Defines an operation that the library does not have: the angle of a point in the plane. Prints
// its gradient at a point, and whether its rules agree with finite differences.
#include <tapegrad/tapegrad.h>

#include <cmath>

using namespace tapegrad;

// The angle between the first axis and the point (x, y), in (-pi, pi], element by element.
//   x, y: of one shape   returns: that shape
Tensor angle(const Tensor& x, const Tensor& y, Place place = Place::here()) {
  expect(x.shape() == y.shape(), "angle: the shapes differ: {} and {}", x.shape(), y.shape());
  Tensor value = Tensor::uninitialized(x.shape());
  for (Index i = 0; i < x.size(); ++i)
    value.mutable_data()[i] = std::atan2(y.data()[i], x.data()[i]);

  // A rule takes the gradient g of the output and returns the gradient of the input. It is composed
  // of operations, so it can itself be differentiated: second derivatives need nothing more.
  return record("angle", value, place,
                edge(x, [x, y](const Tensor& g) { return -g * y / (square(x) + square(y)); }),
                edge(y, [x, y](const Tensor& g) { return g * x / (square(x) + square(y)); }));
}

int main() {
  {
    Tape tape;
    const Tensor x = watch(3.0), y = watch(4.0);
    const std::vector<Tensor> gradient = grad(angle(x, y), std::vector{x, y});
    fmt::print("gradient at (3, 4): ({:.3f}, {:.3f}); by formula (-4/25, 3/25) = (-0.160, 0.120)\n",
               gradient[0].item(), gradient[1].item());
  }

  // Points with x in [1, 2] and y in [-1, 1]: away from the origin, where there is no derivative.
  Random random(1);
  const std::vector<Tensor> points{random.uniform({5}, 1, 2), random.uniform({5}, -1, 1)};
  const Function f = [](const std::vector<Tensor>& in) { return angle(in[0], in[1]); };
  const CheckResult first = check_gradient(f, points), second = check_second_gradient(f, points);
  fmt::print("gradient against differences:        {}, largest error {:.1e}\n",
             first ? "ok" : first.message, first.error);
  fmt::print("second gradient against differences: {}, largest error {:.1e}\n",
             second ? "ok" : second.message, second.error);
  return first && second ? 0 : 1;
}
