#include "tapegrad/ops/elementwise.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "support/values.h"
#include "tapegrad/core/indices.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/nn/functions/pool.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

struct Named {
  const char* name;
  Tensor (*f)(const Tensor&, Place);
  double (*reference)(double);
};
const std::vector<Named> unary{
    {"exp", exp, std::exp},
    {"expm1", expm1, std::expm1},
    {"log", log, std::log},
    {"log1p", log1p, std::log1p},
    {"sqrt", sqrt, std::sqrt},
    {"sin", sin, std::sin},
    {"cos", cos, std::cos},
    {"tanh", tanh, std::tanh},
    {"erf", erf, std::erf},
    {"abs", abs, std::fabs},
    {"sigmoid", sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"relu", relu, [](double x) { return x > 0 || std::isnan(x) ? x : 0; }},
    {"softplus", softplus, [](double x) { return x > 30 ? x : std::log1p(std::exp(x)); }},
    {"rsqrt", rsqrt, [](double x) { return 1 / std::sqrt(x); }},
};

double gradient_at(Tensor (*f)(const Tensor&, Place), double x) {
  const Tape tape;
  const Tensor at = watch(Tensor(x));
  return grad(f(at, Place::here()), at).item();
}

}  // namespace

TEST_CASE("functions follow the C++ library over all magnitudes", "[ops]") {
  std::vector<real> points{0, 1, -1, infinity, -infinity, no_number};
  for (double magnitude = 1e-30; magnitude < 1e30; magnitude *= 1.7) {
    points.push_back(static_cast<real>(magnitude));
    points.push_back(static_cast<real>(-magnitude));
  }
  const Tensor x({static_cast<Index>(points.size())}, points);
  for (const auto& [name, f, reference] : unary) {
    DYNAMIC_SECTION(name) {
      const Tensor y = f(x, Place::here());
      for (std::size_t i = 0; i < points.size(); ++i) {
        const auto expected = static_cast<real>(reference(points[i]));
        const real found = y.data()[i];
        INFO("at " << points[i] << ": " << found << ", expected " << expected);
        if (std::isnan(expected) || std::isinf(expected))
          CHECK((std::isnan(expected) ? std::isnan(found) : found == expected));
        else
          CHECK(std::abs(found - expected) <=
                8 * std::numeric_limits<real>::epsilon() * std::abs(expected) +
                    std::numeric_limits<real>::min());
      }
    }
  }
}

TEST_CASE("exp is right to two units in the last place, subnormal results too", "[ops]") {
  // From below the least exponent whose power is not 0 to above the greatest whose power is finite.
  const double first = sizeof(real) == 4 ? -105 : -747, last = sizeof(real) == 4 ? 90 : 711;
  std::vector<real> points{0};
  for (double x = first; x < last; x += (last - first) / 20011)
    points.push_back(static_cast<real>(x));
  const Tensor powers = exp(Tensor({static_cast<Index>(points.size())}, points));
  CHECK(powers.data()[0] == 1);
  CHECK(powers.data()[1] == 0);
  CHECK(powers.data()[points.size() - 1] == infinity);
  double worst = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const long double exact = std::exp(static_cast<long double>(points[i]));
    const auto expected = static_cast<real>(exact);
    if (std::isinf(expected)) {
      CHECK(powers.data()[i] == infinity);
      continue;
    }
    const real unit = std::nextafter(expected, infinity) - expected;
    worst = std::max(worst, static_cast<double>(std::abs(powers.data()[i] - exact) / unit));
  }
  CHECK(worst < 2);
}

TEST_CASE("NaN is not lost", "[ops]") {
  const Tensor x({3}, {1, no_number, -1});
  for (const Tensor& y : {neg(x), sign(x), square(x), reciprocal(x), gelu(x), silu(x), elu(x),
                          leaky_relu(x), clamp(x, 0, 1), minimum(x, 0.0), maximum(0.0, x)}) {
    INFO(to_string(y));
    CHECK(std::isnan(y.data()[1]));
    CHECK_FALSE(std::isnan(y.data()[0]));
  }
  CHECK(std::isnan(max(x).item()));
  CHECK(std::isnan(min(x).item()));
  CHECK(argmax(x, 0).data()[0] == 1);
  CHECK(std::isnan(logsumexp(x).item()));
  CHECK(std::isnan(max_pool2d(reshape(x, {1, 1, 1, 3}), {.size = 1}).data()[1]));
  CHECK(where(Tensor({3}, {1, 0, 1}), x, 0.0).data()[1] == 0);
}

TEST_CASE("gradients at kinks and ties are PyTorch's", "[ops]") {
  CHECK(gradient_at(relu, 0) == 0);
  CHECK(gradient_at(abs, 0) == 0);
  CHECK(gradient_at([](const Tensor& x, Place) { return leaky_relu(x, 0.1); }, 0) == Approx(0.1));
  CHECK(gradient_at([](const Tensor& x, Place) { return elu(x, 0.7); }, 0) == Approx(0.7));
  CHECK(gradient_at([](const Tensor& x, Place) { return clamp(x, -1, 1); }, 1) == 1);
  CHECK(gradient_at([](const Tensor& x, Place) { return clamp(x, -1, 1); }, 1.5) == 0);
  CHECK(gradient_at([](const Tensor& x, Place) { return maximum(x, 2.0); }, 2) == 0.5);
  CHECK(gradient_at([](const Tensor& x, Place) { return norm(x); }, 0) == 0);
  CHECK(gradient_at([](const Tensor& x, Place) { return pow(x, 0.0); }, 0) == 0);
  CHECK(gradient_at([](const Tensor& x, Place) { return pow(0.0, x); }, 2) == 0);
  const Tape tape;
  const Tensor x = watch(Tensor({4}, {3, 1, 3, 3}));
  CHECK(grad(max(x), x).values()[0] == Approx(1.0 / 3));
  const Tensor image = watch(ones({1, 1, 2, 2}));
  const Tensor pooled = grad(sum(max_pool2d(image)), image);
  CHECK(pooled.values()[0] == 1);
  CHECK(pooled.values()[3] == 0);
}

TEST_CASE("numbers are rounded, two equally near ones to the even one", "[ops]") {
  const Tensor x({6}, {-1.5, -0.5, 0.5, 1.5, 2.5, 1e30F});
  // By value: with SSE2, a zero loses its sign.
  CHECK(sum(not_equal(round(x), Tensor({6}, {-2, 0, 0, 2, 2, 1e30F}))).item() == 0);
  CHECK(sum(not_equal(floor(x), Tensor({6}, {-2, -1, 0, 1, 2, 1e30F}))).item() == 0);
  CHECK(sum(not_equal(ceil(x), Tensor({6}, {-1, 0, 1, 2, 3, 1e30F}))).item() == 0);
  using Operation = Tensor (*)(const Tensor&, Place);
  for (const Operation f : {Operation{floor}, Operation{ceil}, Operation{round}}) {
    CHECK(std::isnan(f(Tensor(std::nan("")), {}).item()));
    CHECK(f(Tensor(-infinity), {}).item() == -infinity);
  }
}

TEST_CASE("a variable is changed by an operation, and recorded", "[ops]") {
  const Tape tape;
  const Tensor x = watch(Tensor({2}, {1, 2}));
  Tensor y = x;
  y += 1;
  y *= x;
  y -= Tensor({2}, {2, 0});
  y /= 2;
  CHECK(to_string(y) == "(2) [0, 3]");
  CHECK(to_string(x) == "(2) [1, 2]");
  CHECK(to_string(grad(sum(y), x)) == "(2) [1.5, 2.5]");
}
