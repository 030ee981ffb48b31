#include "tapegrad/ops/elementwise.h"

#include <cmath>
#include <numbers>

#include "tapegrad/core/error.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/internal/apply.h"
#include "tapegrad/ops/internal/fused.h"
#include "tapegrad/ops/internal/select.h"
#include "tapegrad/ops/kernels/apply.h"
#include "tapegrad/ops/kernels/elementwise.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

const kernels::Elementwise& loops() { return kernels::elementwise(); }

// 0 where y <= 0, otherwise g: the derivative of relu.
Tensor gate(const Tensor& g, const Tensor& y, Place place = Place::here()) {
  return record("gate", apply("gate", place, loops().gate, g, y), place,
                edge(g, [y](const Tensor& gg) { return gate(gg, y); }));
}

// The rule for an operand of an extreme, given by its shares.
auto to_share(kernels::Binary share, const Tensor& operand, const Tensor& other) {
  return [=](const Tensor& g) {
    return weighed(g, apply("share", Place::here(), share, operand, other));
  };
}

// A function of steps.
Tensor stepped(const char* name, kernels::Unary loop, const Tensor& x, const Place& place) {
  return record(name, apply(name, place, loop, x), place,
                edge(x, [](const Tensor& g) { return zeros(g.shape()); }));
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b, Place place) {
  return record("add", apply("add", place, loops().add, a, b), place, edge(a), edge(b));
}

Tensor sub(const Tensor& a, const Tensor& b, Place place) {
  return record("sub", apply("sub", place, loops().sub, a, b), place, edge(a),
                edge(b, [](const Tensor& g) { return -g; }));
}

Tensor mul(const Tensor& a, const Tensor& b, Place place) {
  return record("mul", apply("mul", place, loops().mul, a, b), place,
                edge(a, [b](const Tensor& g) { return g * b; }),
                edge(b, [a](const Tensor& g) { return g * a; }));
}

Tensor div(const Tensor& a, const Tensor& b, Place place) {
  return record("div", apply("div", place, loops().div, a, b), place,
                edge(a, [b](const Tensor& g) { return g / b; }),
                edge(b, [b](const Tensor& g, const Tensor& y) { return -g * y / b; }));
}

Tensor pow(const Tensor& a, const Tensor& b, Place place) {
  const auto to_base = [a, b](const Tensor& g) {
    return where(equal(b, 0.0), 0.0, g * b * pow(a, b - 1.0));
  };
  const auto to_exponent = [a, b](const Tensor& g, const Tensor& y) {
    const Tensor is_zero = equal(a, 0.0);
    return where(is_zero, 0.0, g * y * log(where(is_zero, 1.0, a)));
  };
  return record("pow", apply("pow", place, loops().pow, a, b), place, edge(a, to_base),
                edge(b, to_exponent));
}

Tensor minimum(const Tensor& a, const Tensor& b, Place place) {
  return record("minimum", apply("minimum", place, loops().minimum, a, b), place,
                edge(a, to_share(loops().minimum_share, a, b)),
                edge(b, to_share(loops().minimum_share, b, a)));
}

Tensor maximum(const Tensor& a, const Tensor& b, Place place) {
  return record("maximum", apply("maximum", place, loops().maximum, a, b), place,
                edge(a, to_share(loops().maximum_share, a, b)),
                edge(b, to_share(loops().maximum_share, b, a)));
}

Tensor neg(const Tensor& x, Place place) {
  return record("neg", apply("neg", place, loops().neg, x), place,
                edge(x, [](const Tensor& g) { return -g; }));
}

Tensor abs(const Tensor& x, Place place) {
  return record("abs", apply("abs", place, loops().abs, x), place,
                edge(x, [x](const Tensor& g) { return weighed(g, sign(x)); }));
}

Tensor sign(const Tensor& x, Place place) { return stepped("sign", loops().sign, x, place); }
Tensor floor(const Tensor& x, Place place) { return stepped("floor", loops().floor, x, place); }
Tensor ceil(const Tensor& x, Place place) { return stepped("ceil", loops().ceil, x, place); }
Tensor round(const Tensor& x, Place place) { return stepped("round", loops().round, x, place); }

Tensor exp(const Tensor& x, Place place) {
  return record("exp", apply("exp", place, loops().exp, x), place,
                edge(x, [](const Tensor& g, const Tensor& y) { return g * y; }));
}

Tensor expm1(const Tensor& x, Place place) {
  return record("expm1", apply("expm1", place, loops().expm1, x), place,
                edge(x, [](const Tensor& g, const Tensor& y) { return g * (y + 1.0); }));
}

Tensor log(const Tensor& x, Place place) {
  return record("log", apply("log", place, loops().log, x), place,
                edge(x, [x](const Tensor& g) { return g / x; }));
}

Tensor log1p(const Tensor& x, Place place) {
  return record("log1p", apply("log1p", place, loops().log1p, x), place,
                edge(x, [x](const Tensor& g) { return g / (x + 1.0); }));
}

Tensor sqrt(const Tensor& x, Place place) {
  return record("sqrt", apply("sqrt", place, loops().sqrt, x), place,
                edge(x, [](const Tensor& g, const Tensor& y) { return 0.5 * g / y; }));
}

Tensor rsqrt(const Tensor& x, Place place) {
  return record("rsqrt", apply("rsqrt", place, loops().rsqrt, x), place,
                edge(x, [](const Tensor& g, const Tensor& y) { return -0.5 * g * y * square(y); }));
}

Tensor square(const Tensor& x, Place place) {
  return record("square", apply("square", place, loops().square, x), place,
                edge(x, [x](const Tensor& g) { return 2.0 * g * x; }));
}

Tensor reciprocal(const Tensor& x, Place place) {
  return record("reciprocal", apply("reciprocal", place, loops().reciprocal, x), place,
                edge(x, [](const Tensor& g, const Tensor& y) { return -g * square(y); }));
}

Tensor sin(const Tensor& x, Place place) {
  return record("sin", apply("sin", place, loops().sin, x), place,
                edge(x, [x](const Tensor& g) { return g * cos(x); }));
}

Tensor cos(const Tensor& x, Place place) {
  return record("cos", apply("cos", place, loops().cos, x), place,
                edge(x, [x](const Tensor& g) { return -g * sin(x); }));
}

Tensor tanh(const Tensor& x, Place place) {
  return record("tanh", apply("tanh", place, loops().tanh, x), place,
                edge(x, [](const Tensor& g, const Tensor& y) { return g * (1.0 - square(y)); }));
}

Tensor erf(const Tensor& x, Place place) {
  return record("erf", apply("erf", place, loops().erf, x), place, edge(x, [x](const Tensor& g) {
                  return g * (2 * std::numbers::inv_sqrtpi) * exp(-square(x));
                }));
}

Tensor sigmoid(const Tensor& x, Place place) {
  return record("sigmoid", apply("sigmoid", place, loops().sigmoid, x), place,
                edge(x, [](const Tensor& g, const Tensor& y) { return g * y * (1.0 - y); }));
}

Tensor relu(const Tensor& x, Place place) {
  return record("relu", apply("relu", place, loops().relu, x), place,
                edge(x, [](const Tensor& g, const Tensor& y) { return gate(g, y); }));
}

Tensor leaky_relu(const Tensor& x, double slope, Place place) {
  const OperationScope scope("leaky_relu", place, x);
  if (slope == 0) return relu(x);
  return where(greater(x, 0.0), x, slope * x);
}

Tensor elu(const Tensor& x, double alpha, Place place) {
  const OperationScope scope("elu", place, x);
  if (alpha == 0) return relu(x);
  // Keeps the exponential from overflowing where it is not chosen. At 0 it gets the full gradient.
  const Tensor is_positive = greater(x, 0.0);
  return where(is_positive, x, alpha * expm1(where(is_positive, 0.0, x)));
}

Tensor composite::gelu(const Tensor& x) {
  return 0.5 * x * (1.0 + erf(x * (1 / std::numbers::sqrt2)));
}

namespace {

struct Gelu {
  static constexpr const char* name = "gelu";

  static Tensor definition(const Operands<1>& in) { return composite::gelu(in[0]); }
  static Tensor value(const Operands<1>& in) { return apply(name, {}, loops().gelu, in[0]); }
  static Gradients<1> gradients(const Operands<1>& in, const Tensor& g, const Wanted<1>&) {
    return {apply(name, {}, loops().gelu_slope, g, in[0])};
  }
};

}  // namespace

Tensor gelu(const Tensor& x, Place place) {
  const OperationScope scope("gelu", place, x);
  return fused(Gelu{}, Operands<1>{x}, place);
}

Tensor gelu_tanh(const Tensor& x, Place place) {
  const OperationScope scope("gelu_tanh", place, x);
  const double scale = std::sqrt(2 / std::numbers::pi);
  return 0.5 * x * (1.0 + tanh(scale * x * (1.0 + 0.044715 * square(x))));
}

Tensor silu(const Tensor& x, Place place) {
  const OperationScope scope("silu", place, x);
  return x * sigmoid(x);
}

Tensor softplus(const Tensor& x, Place place) {
  return record("softplus", apply("softplus", place, loops().softplus, x), place,
                edge(x, [x](const Tensor& g) { return g * sigmoid(x); }));
}

Tensor clamp(const Tensor& x, double low, double high, Place place) {
  const OperationScope scope("clamp", place, x);
  expect<ArgumentError>(low <= high, "clamp: the lower bound {} is above the upper bound {}", low,
                        high);
  const Tensor bounded =
      apply("clamp", place, loops().minimum, apply("clamp", place, loops().maximum, x, low), high);
  return record("clamp", bounded, place, edge(x, [x](const Tensor& g, const Tensor& y) {
                  return weighed(g, chosen(x, y));
                }));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
