#include "tapegrad/ops/reduce.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "support/values.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/derivatives.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/norm.h"
#include "tapegrad/ops/normalize.h"
#include "tapegrad/ops/order.h"
#include "tapegrad/ops/softmax.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

constexpr double reduce_precision = sizeof(real) == 8 ? 1e-12 : 2e-6;

}  // namespace

TEST_CASE("sums keep their precision", "[ops]") {
  const Index count = 3'000'001;
  const Tensor x = full({count}, 0.1);
  CHECK(sum(x).item() ==
        Approx(static_cast<double>(count) * static_cast<double>(real(0.1))).epsilon(1e-5));
  CHECK(var(full({1000}, 1e4) + Tensor(0.0)).item() == Approx(0).margin(1e-3));
}

TEST_CASE("the error of a sum does not grow with its length", "[ops]") {
  constexpr double bound = 8 * std::numeric_limits<real>::epsilon();  // as in docs/reliability.md
  for (const Index count : {1000, 100'000, 10'000'000}) {
    INFO(count << " terms");
    const double exact = static_cast<double>(count) * static_cast<double>(real(0.1));
    const auto check = [&](const Tensor& sums) {
      for (const real found : sums.values()) CHECK(std::abs(found / exact - 1) < bound);
    };
    const Tensor columns = full({count, 2}, 0.1), rows = full({2, count}, 0.1);
    check(sum(columns, 0));
    check(sum(rows, 1));
    check(sum(reshape(rows, {2, count, 1}), 1));
    check(sum_to(columns, {2}));
    check(mean(columns, 0) * static_cast<double>(count));
    check(square(norm(sqrt(columns), 0)));
    const Tape tape;
    const Tensor bias = watch(zeros({2}));
    check(grad(sum((columns + bias) * 0.1), bias));
  }
}

TEST_CASE("the deviation of equal elements has gradient 0", "[ops]") {
  const Tape tape;
  const Tensor x = watch(Tensor({2, 3}, {2, 2, 2, 1, 2, 6}));
  for (const Variance divisor : {Variance::biased, Variance::unbiased}) {
    const Tensor y = stddev(x, -1, Keep::no, divisor);
    const Tensor g = grad(y, x, {.seed = ones({2}), .record = true});
    for (int i = 0; i < 3; ++i) CHECK(g.values()[i] == 0);
    CHECK(g.values()[5] > 0);
    const Tensor second = grad(sum(square(g)), x);
    for (const real each : second.values()) CHECK(std::isfinite(each));
  }
  CHECK(std::isnan(stddev(Tensor({2}, {no_number, 1})).item()));
  CHECK(std::isnan(
      normalize(Tensor({2}, {no_number, 1}), both({.axes = {-1}}), {.place = Epsilon::outside_root})
          .values()[1]));
}

TEST_CASE("norms and deviations are right where squares overflow or vanish", "[ops]") {
  using list = std::vector<double>;
  const list scales =
      sizeof(real) == 8 ? list{1e-310, 1e-200, 1.0, 1e200} : list{1e-39, 1e-25, 1e-23, 1.0, 1e20};
  const auto check = [](const Tensor& found, const list& expected, double unit) {
    for (std::size_t i = 0; i < expected.size(); ++i)
      CHECK(found.values()[i] / unit == Approx(expected[i]).margin(reduce_precision).epsilon(1e-5));
  };
  for (const double s : scales) {
    INFO(s);
    const auto length = [](const Tensor& v) { return norm(v); };
    const Tensor x({2}, list{3 * s, 4 * s}), one_way({2}, list{s, 0});
    check(norm(x), {5}, s);
    check(norm(Tensor({2, 2}, list{3 * s, 4 * s, 0, 0}), 1), {5, 0}, s);
    check(norm(Tensor({2, 3}, list{3 * s, 0, 3, 4 * s, 0, 4}), 0, Keep::yes), {5, 0, 5 / s}, s);
    check(norm(Tensor({2, 2, 2}, list{3 * s, 0, 0, s, 4 * s, 0, 0, s}), {0, 2}),
          {5, std::sqrt(2.0)}, s);
    check(stddev(Tensor({2}, list{s, -s})), {1}, s);
    for (const bool recorded : {false, true}) {
      const Tape tape;
      const Tensor v = watch(x), w = watch(Tensor({2}, list{s, -s}));
      check(grad(norm(v), v, {.record = recorded}), {0.6, 0.8}, 1);
      check(grad(stddev(w), w, {.record = recorded}), {0.5, -0.5}, 1);
      check(grad(norm(v), v, {.seed = Tensor(s), .record = recorded}), {0.6, 0.8}, s);
    }
    // The Hessian is (1 - u u^T) / |x|, with u = (0.6, 0.8).
    check(hvp(length, x, one_way), {0.128, -0.096}, 1);
    check(jvp([](const std::vector<Tensor>& in) { return norm(in[0]); }, {x}, {one_way}), {0.6}, s);
  }
  CHECK(norm(Tensor({2}, {infinity, 1})).item() == infinity);
  CHECK(norm(full({2}, std::numeric_limits<real>::max())).item() == infinity);
  CHECK(std::isnan(norm(Tensor({2}, {no_number, infinity})).item()));
}

TEST_CASE("products of many factors keep their digits", "[ops]") {
  // Each pair of factors 1 - 2^-11, 1 + 2^-11 makes 1 - 2^-22.
  for (const Index count : {1000, 100'000, 1'000'000}) {
    INFO(count << " factors");
    const double step = std::ldexp(1.0, -11);
    Tensor x = Tensor::uninitialized({count});
    for (Index i = 0; i < count; ++i)
      x.mutable_data()[i] = static_cast<real>(i % 2 == 0 ? 1 - step : 1 + step);
    const double exact = std::exp(static_cast<double>(count / 2) * std::log1p(-step * step));
    const auto check = [&](const Tensor& found) {
      for (const real each : found.values()) CHECK(std::abs(each / exact - 1) < 1e-6);
    };
    const Tape tape;
    const Tensor v = watch(x), columns = stack({v, v}, 1);
    const Tensor all = prod(v), running = cumprod(v);
    check(all);
    check(prod(columns, 0));
    check(prod(reshape(columns, {count, 2, 1}), {0, 2}));
    check(slice(running, 0, count - 1, count));
    check(slice(cumprod(columns, 0), 0, count - 1, count));
    check(slice(grad(all, v, {.keep = true}) * x, 0, count / 2, count / 2 + 1));
    check(slice(grad(slice(running, 0, count - 1, count), v, {.seed = ones({1})}) * x, 0, 0, 1));
  }
}

TEST_CASE("a variance far from 0 keeps its digits", "[ops]") {
  const Tensor x = Random(3).normal({100000});
  for (const double offset : {1e2, 1e3, 1e4}) {
    const Tensor far = x + offset;  // rounded: the variance of these values is wanted
    double mean = 0, moment = 0;
    for (const double value : far.values()) mean += value / 100000;
    for (const double value : far.values()) moment += (value - mean) * (value - mean) / 100000;
    INFO(offset);
    CHECK(std::abs(var(far).item() / moment - 1) < 10 * reduce_precision);
    // A column is summed row by row.
    CHECK(std::abs(var(reshape(far, {100000, 1}), 0).item() / moment - 1) < 10 * reduce_precision);
    const Tensor twice = concat({reshape(far, {100000, 1}), reshape(far, {100000, 1})}, 1);
    CHECK(std::abs(var(twice, 0).values()[1] / moment - 1) < 10 * reduce_precision);
  }
}

TEST_CASE("products of any number of elements", "[ops]") {
  const Tensor x({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(prod(x).item() == 720);
  CHECK(to_string(prod(x, 0)) == "(3) [4, 10, 18]");
  CHECK(to_string(prod(x, 1, Keep::yes)) == "(2, 1) [[6], [120]]");
  CHECK(prod(Tensor(3)).item() == 3);
  CHECK(prod(zeros({0})).item() == 1);
  CHECK(to_string(prod(zeros({2, 0}), 1)) == "(2) [1, 1]");
  CHECK(prod(zeros({2, 0}), 0).shape() == Shape{0});
  CHECK(prod(full({7}, 2)).item() == 128);
  CHECK(to_string(prod(reshape(x, {1, 2, 3}), {0, 2})) == "(2) [6, 120]");
  CHECK(std::isnan(prod(Tensor({2}, {0, no_number})).item()));
  CHECK_THROWS_AS(prod(x, 2), ShapeError);
}

TEST_CASE("the least element is found, or a NaN", "[ops]") {
  CHECK(argmin(Tensor({4}, {2, 1, 1, 3})).values()[0] == 1);
  CHECK(argmin(Tensor({4}, {2, 1, no_number, -3})).values()[0] == 2);
  const Indices rows = argmin(Tensor({2, 2}, {1, 4, 3, 2}), 0);
  CHECK((rows.values()[0] == 0 && rows.values()[1] == 1));
  CHECK_THROWS_WITH(argmin(zeros({2, 0})), Catch::StartsWith("argmin: axis"));
  const Tape tape;
  argmin(watch(ones({2})));
  CHECK(tape.size() == 1);
}

TEST_CASE("reductions of nothing have the answers of NumPy and PyTorch", "[ops]") {
  for (const Shape& shape : {Shape{0}, Shape{0, 2}, Shape{2, 0, 3}}) {
    const Tape tape;
    const Tensor x = watch(zeros(shape));
    CHECK(sum(x).item() == 0);
    CHECK(prod(x).item() == 1);
    CHECK(norm(x).item() == 0);
    CHECK(logsumexp(x).item() == -infinity);
    CHECK(std::isnan(mean(x).item()));
    for (const Variance divisor : {Variance::biased, Variance::unbiased}) {
      CHECK(std::isnan(var(x, {}, Keep::no, divisor).item()));
      CHECK(std::isnan(stddev(x, {}, Keep::no, divisor).item()));
    }
    CHECK(grad(logsumexp(x), x).shape() == shape);
    CHECK_THROWS_WITH(max(x), Contains("max: no elements"));
    CHECK_THROWS_WITH(min(x), Contains("min: no elements"));
    for (const bool readable : {false, true}) {
      const Composite choice(readable);
      CHECK(softmax(x, 0).shape() == shape);
      CHECK(log_softmax(x, -1).shape() == shape);
    }
  }
  CHECK(std::isnan(var(Tensor({1}, {5}), {}, Keep::no, Variance::unbiased).item()));
  const Tensor columns = zeros({0, 2});
  CHECK(logsumexp(columns, 0).data()[1] == -infinity);
  CHECK(logsumexp(columns, 1, Keep::yes).shape() == Shape{0, 1});
  CHECK(max(columns, 1).shape() == Shape{0});
  CHECK(argmax(columns, 1).shape() == Shape{0});
  CHECK_THROWS_WITH(argmin(columns, 0), Contains("argmin"));
}
