#include "tapegrad/ops/derivatives.h"

#include <catch2/catch.hpp>
#include <vector>

#include "support/values.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

TEST_CASE("Hessian-vector and vector-Jacobian products", "[tape]") {
  // f = sum x^3: the Hessian is diagonal, 6 x.
  const auto f = [](const Tensor& x) { return sum(x * square(x)); };
  const Tensor x({2}, {1, 2}), v({2}, {1, -1});
  CHECK(hvp(f, x, v).values()[1] == Approx(-12));
  const auto g = [](const std::vector<Tensor>& in) { return square(in[0]) * in[1]; };
  const auto products = vjp(g, {x, v}, ones({2}));
  CHECK(products[0].values()[1] == Approx(-4));
  CHECK(products[1].values()[1] == Approx(4));
  CHECK(products[0].tape_id() == 0);
  const Tape tape;
  CHECK(vjp(g, {watch(x), v}, ones({2}))[0].tape_id() == tape.id());
}

TEST_CASE("what does not depend on x has derivatives of zero", "[tape]") {
  const Tensor x({2}, {1, -2}), v({2}, {1, 1});
  const auto check = [&] {
    const auto linear = [](const Tensor& in) { return sum(in * 3.0); };
    CHECK(sum(abs(hvp(linear, x, v))).item() == 0);
    CHECK(sum(abs(hvp([](const Tensor& in) { return sum(relu(in)); }, x, v))).item() == 0);
    CHECK(sum(abs(hvp([](const Tensor&) { return Tensor(1.0); }, x, v))).item() == 0);
    CHECK(sum(abs(jacobian([](const Tensor& in) { return detach(in); }, x))).item() == 0);
    CHECK(jacobian([](const Tensor& in) { return detach(in); }, x).shape() == Shape{2, 2});
    CHECK(sum(abs(vjp([](const auto&) { return ones({3}); }, {x}, ones({3}))[0])).item() == 0);
  };
  check();
  const Tape tape;
  check();
  CHECK_THROWS_WITH(vjp([](const auto& in) { return in[0]; }, {x}, ones({3})),
                    Catch::StartsWith("vjp: the vector must have the shape (2): (3) ["));
  CHECK_THROWS_WITH(vjp([](const auto& in) { return in[0]; }, {x}, Tensor()), Contains("vjp"));
  CHECK_THROWS_AS(hvp([](const Tensor& in) { return sum(in); }, x, ones({3})), ShapeError);
  CHECK_THROWS_WITH(vjp(Function(), {x}, v), Contains("is empty"));
  CHECK_THROWS_WITH(hvp({}, x, v), Contains("is empty"));
  CHECK_THROWS_WITH(jacobian({}, x), Contains("is empty"));
  CHECK_THROWS_WITH(check_gradient(Function(), {x}), Contains("is empty"));
  CHECK(tape.parameter(-1) == nullptr);
  CHECK(tape.label(1000).empty());
  CHECK_FALSE(tape.gradient(-3).defined());
}

TEST_CASE("a Jacobian has the shapes of output and input", "[tape]") {
  const Tensor w({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto f = [&](const Tensor& x) { return square(matmul(w, reshape(x, {3, 1}))); };
  const Tensor x({3}, {1, 0, -1});
  const Tensor j = jacobian(f, x);  // 2 (w x)_i w_ij with w x = (-2, -2)
  CHECK(j.shape() == Shape{2, 1, 3});
  const double expected[] = {-4, -8, -12, -16, -20, -24};
  for (int i = 0; i < 6; ++i) CHECK(j.values()[i] == Approx(expected[i]));
  CHECK(jacobian([](const Tensor& in) { return sum(in); }, x).shape() == Shape{3});
  CHECK(jacobian(f, x).tape_id() == 0);
  const Tape tape;
  const Tensor leaf = watch(x);
  const Tensor second = grad(sum(jacobian(f, leaf)), leaf);  // sum_ij 2 w_ij w_ik
  CHECK(second.values()[0] == Approx(2 * (1 * 6 + 4 * 15)));
}

TEST_CASE("a Jacobian-vector product is the derivative in a direction", "[tape]") {
  const auto f = [](const std::vector<Tensor>& in) {
    return matmul(tanh(in[0]), in[1]) * sum(in[1]);
  };
  Random random(1);
  const std::vector<Tensor> xs{random.normal({2, 3}), random.normal({3, 4})};
  const std::vector<Tensor> vs{random.normal({2, 3}), random.normal({3, 4})};
  const Tensor product = jvp(f, xs, vs);
  CHECK(product.shape() == Shape{2, 4});
  CHECK(product.tape_id() == 0);

  // The expected product is the sum of both Jacobians, times their vectors.
  Tensor expected = zeros({2, 4});
  for (std::size_t i = 0; i < 2; ++i) {
    const auto of_one = [&](const Tensor& x) { return i == 0 ? f({x, xs[1]}) : f({xs[0], x}); };
    const Tensor rows = reshape(jacobian(of_one, xs[i]), {8, -1});
    expected = expected + reshape(matmul(rows, reshape(vs[i], {-1, 1})), {2, 4});
  }
  const double step = sizeof(real) == 8 ? 1e-6 : 1e-3;
  const Tensor difference = f({xs[0] + step * vs[0], xs[1] + step * vs[1]}) -
                            f({xs[0] - step * vs[0], xs[1] - step * vs[1]});
  for (Index i = 0; i < product.size(); ++i) {
    CHECK(product.data()[i] == Approx(expected.data()[i]).epsilon(1e-4).margin(1e-5));
    CHECK(difference.data()[i] / (2 * step) ==
          Approx(product.data()[i]).epsilon(1e-3).margin(sizeof(real) == 8 ? 1e-6 : 1e-2));
  }
}

TEST_CASE("Jacobian-vector products are recorded", "[tape]") {
  const auto f = [](const std::vector<Tensor>& in) { return square(in[0]) * in[0]; };
  const Tensor v({2}, {1, -1});
  const auto product = [&](const std::vector<Tensor>& in) { return jvp(f, {in[0]}, {v}); };
  const Tensor at({2}, {1, 2});
  {
    const Tape tape;
    const Tensor x = watch(at), direction = jvp(f, {x}, {v});  // 3 x^2 v
    CHECK(direction.data()[1] == Approx(-12));
    CHECK(grad(sum(direction), x).data()[1] == Approx(-12));  // 6 x v
  }
  const CheckResult checked = check_gradient(product, {at});
  INFO(checked.message);
  CHECK(checked);
  CHECK(check_second_gradient(product, {at}));
}

TEST_CASE("Jacobian-vector products of constants are 0, and what does not fit is refused",
          "[tape]") {
  const auto constant = [](const std::vector<Tensor>&) { return ones({3}); };
  const auto same = [](const std::vector<Tensor>& in) { return in[0]; };
  const Tensor x = ones({2});
  CHECK(sum(abs(jvp(constant, {x}, {x}))).item() == 0);
  const NoGrad pause;
  CHECK(jvp(same, {x}, {x}).data()[1] == 1);
  CHECK_THROWS_WITH(jvp(Function(), {x}, {x}), Contains("jvp: the function is empty"));
  CHECK_THROWS_WITH(jvp(same, {x}, {}), Contains("jvp: 0 vectors for 1 inputs"));
  CHECK_THROWS_WITH(jvp(same, {x}, {ones({3})}), Contains("jvp: the vector must have the shape"));
}
