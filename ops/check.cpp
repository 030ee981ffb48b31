#include "tapegrad/ops/check.h"

#include <algorithm>
#include <cmath>

#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

double dot(const Tensor& a, const Tensor& b) {
  double total = 0;
  for (Index i = 0; i < a.size(); ++i) total += static_cast<double>(a.data()[i]) * b.data()[i];
  return total;
}

Tensor moved(const Tensor& x, const Tensor& direction, double step) {
  Tensor y = Tensor::uninitialized(x.shape());
  for (Index i = 0; i < x.size(); ++i)
    y.mutable_data()[i] = static_cast<real>(x.data()[i] + step * direction.data()[i]);
  return y;
}

// The derivative of <f, u> as input `which` moves in a direction.
double difference(const Function& f, const std::vector<Tensor>& xs, std::size_t which,
                  const Tensor& direction, const Tensor& u, double step) {
  const NoGrad pause;
  const auto at = [&](double distance) {
    std::vector<Tensor> inputs = xs;
    inputs[which] = moved(xs[which], direction, distance);
    return dot(f(inputs), u);
  };
  return (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step);
}

void compare(CheckResult& result, double gradient, double expected, const CheckOptions& options,
             const std::string& what) {
  expect<ArgumentError>(options.step > 0 && options.tolerance > 0,
                        "check: step and tolerance must be positive: {} and {}", options.step,
                        options.tolerance);
  const double scale = std::max({std::abs(gradient), std::abs(expected), 1.0});
  const double error = std::abs(gradient - expected) / scale;
  if (error <= result.error) return;  // false for NaN, which is an error of its own
  result.error = error;
  if (error <= options.tolerance) return;
  result.ok = false;
  result.message = fmt::format("{}: the gradient gives {:.9g}, differences {:.9g} (error {:.2g})",
                               what, gradient, expected, error);
}

Tensor value_of(const Function& f, const std::vector<Tensor>& xs) {
  expect<ArgumentError>(f != nullptr, "check: the function is empty");
  const NoGrad pause;
  return f(xs);
}

}  // namespace

CheckResult check_gradient(const Function& f, const std::vector<Tensor>& xs,
                           const CheckOptions& options) {
  CheckResult result;
  Random random(options.seed);
  const Tensor u = random.normal(value_of(f, xs).shape());
  const std::vector<Tensor> gradients = vjp(f, xs, u);
  for (std::size_t i = 0; i < xs.size(); ++i)
    for (int trial = 0; trial < 3; ++trial) {
      const Tensor direction = random.uniform(xs[i].shape(), -1, 1);
      compare(result, dot(gradients[i], direction),
              difference(f, xs, i, direction, u, options.step), options,
              fmt::format("input {} of shape {}", i, xs[i].shape()));
    }
  return result;
}

CheckResult check_second_gradient(const Function& f, const std::vector<Tensor>& xs,
                                  const CheckOptions& options) {
  Random random = Random(options.seed).stream(2);
  std::vector<Tensor> inputs = xs;
  inputs.push_back(random.normal(value_of(f, xs).shape()));
  CheckResult worst;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const Function gradient_of_i = [&, i](const std::vector<Tensor>& in) {
      return vjp(f, std::vector<Tensor>(in.begin(), in.end() - 1), in.back())[i];
    };
    const CheckResult result = check_gradient(gradient_of_i, inputs, options);
    if (result.ok && result.error <= worst.error) continue;
    worst = result;
    if (!worst.ok) {
      worst.message = fmt::format("second order, gradient of input {}: {}", i, worst.message);
      return worst;
    }
  }
  return worst;
}

CheckResult check_jacobian(const Function& f, const std::vector<Tensor>& xs,
                           const CheckOptions& options) {
  CheckResult result;
  const Shape shape = value_of(f, xs).shape();
  for (Index output = 0; output < shape.size(); ++output) {
    Tensor unit = zeros(shape);
    unit.mutable_data()[output] = 1;
    const std::vector<Tensor> gradients = vjp(f, xs, unit);
    for (std::size_t i = 0; i < xs.size(); ++i)
      for (Index column = 0; column < xs[i].size(); ++column) {
        Tensor direction = zeros(xs[i].shape());
        direction.mutable_data()[column] = 1;
        compare(result, gradients[i].data()[column],
                difference(f, xs, i, direction, unit, options.step), options,
                fmt::format("output {} by element {} of input {}", output, column, i));
      }
  }
  return result;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
