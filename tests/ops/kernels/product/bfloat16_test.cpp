#include "tapegrad/ops/kernels/product/bfloat16.h"

#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "tapegrad/core/random.h"
#include "tapegrad/ops/kernels/product/panels.h"

using namespace tapegrad;
using kernels::Bfloat16Product;
using kernels::MatrixView;
using kernels::rounded_to_bfloat16;
using kernels::Start;

namespace {

// The nearest number with 8 significant bits, found by its definition.
real nearest(real x) {
  if (x == 0) return x;
  const double unit = std::ldexp(1.0, std::ilogb(x) - 7);
  return static_cast<real>(std::nearbyint(x / unit) * unit);  // of two, the even one
}

// One product in all ways to read its operands and to start it.
struct Product {
  Index m, n, k;
  bool of_a, of_b;
  std::vector<real> a, b, before;

  Product(std::array<Index, 3> shape, bool transposed_a, bool transposed_b)
      : m(shape[0]), n(shape[1]), k(shape[2]), of_a(transposed_a), of_b(transposed_b) {
    Random random(1);
    const auto drawn = [&](Index count) {
      const Tensor x = random.normal({count}), scale = random.normal({count});
      std::vector<real> values(static_cast<std::size_t>(count));
      for (Index i = 0; i < count; ++i)
        values[static_cast<std::size_t>(i)] = x.data()[i] * std::exp(scale.data()[i]);
      return values;
    };
    a = drawn(m * k);
    b = drawn(k * n);
    before = drawn(m * n);
  }
  // start: 0: none; 1: one row; 2: what c holds
  std::vector<real> multiplied(Bfloat16Product multiply, int start) const {
    std::vector<real> c = before;
    const Start from = start == 0   ? Start{}
                       : start == 1 ? Start{before.data(), 0}
                                    : Start{c.data(), n};
    multiply(m, n, k, {a.data(), of_a ? m : k, of_a}, {b.data(), of_b ? k : n, of_b}, from,
             c.data(), n);
    return c;
  }
  // In double precision, and the sum of magnitudes, which bounds the error.
  std::pair<double, double> expected(Index i, Index j, int start) const {
    double sum = start == 0   ? 0
                 : start == 1 ? static_cast<double>(before[static_cast<std::size_t>(j)])
                              : static_cast<double>(before[static_cast<std::size_t>(i * n + j)]);
    double size = std::abs(sum);
    for (Index p = 0; p < k; ++p) {
      const auto left = static_cast<std::size_t>(of_a ? p * m + i : i * k + p);
      const auto right = static_cast<std::size_t>(of_b ? j * k + p : p * n + j);
      const double product = static_cast<double>(nearest(a[left])) * nearest(b[right]);
      sum += product;
      size += std::abs(product);
    }
    return {sum, size};
  }
};

constexpr std::array<Index, 3> shapes[]{{1, 1, 0},      {1, 1, 1},       {5, 9, 0},
                                        {3, 40, 17},    {16, 16, 32},    {33, 31, 33},
                                        {32, 64, 1023}, {70, 530, 1100}, {270, 40, 64}};

}  // namespace

TEST_CASE("numbers are rounded to bfloat16, ties to even", "[kernels]") {
  CHECK(rounded_to_bfloat16(1) == 1);
  CHECK(rounded_to_bfloat16(real{1.00390625}) == 1);               // 1 + 2^-8, half way
  CHECK(rounded_to_bfloat16(real{1.01171875}) == real{1.015625});  // 1 + 3 x 2^-8, half way
  CHECK(rounded_to_bfloat16(real{-3.14159265}) == real{-3.140625});
  CHECK(rounded_to_bfloat16(real{3.4e38}) == std::numeric_limits<real>::infinity());
  CHECK(std::isnan(rounded_to_bfloat16(std::numeric_limits<real>::quiet_NaN())));
  const real tiny = rounded_to_bfloat16(real{-1e-39});
  CHECK((tiny == 0 && std::signbit(tiny)));
  // Just above half way, by less than float can show: rounded once, not by way of float.
  if (sizeof(real) == 8) CHECK(rounded_to_bfloat16(static_cast<real>(1.00390625 + 1e-12)) > 1);
  Random random(2);
  const Tensor x = random.normal({10'000});
  Index wrong = 0;
  for (const real each : x.values()) wrong += rounded_to_bfloat16(each) != nearest(each);
  CHECK(wrong == 0);
}

TEST_CASE("every way to multiply in bfloat16 gives the sums of rounded operands", "[kernels]") {
  constexpr double epsilon = std::numeric_limits<real>::epsilon();
  for (const auto& shape : shapes)
    for (const bool of_a : {false, true})
      for (const bool of_b : {false, true})
        for (const int start : {0, 1, 2}) {
          const Product example(shape, of_a, of_b);
          INFO(shape[0] << " x " << shape[1] << " x " << shape[2] << of_a << of_b << start);
          const std::vector<real> c = example.multiplied(kernels::multiply_rounded, start);
          double error = 0;
          for (Index i = 0; i < example.m; i += 1 + example.m / 20)
            for (Index j = 0; j < example.n; j += 1 + example.n / 20) {
              const auto [sum, size] = example.expected(i, j, start);
              const double got = c[static_cast<std::size_t>(i * example.n + j)];
              error = std::max(error, std::abs(got - sum) / (size + 1e-30));
            }
          CHECK(error < epsilon * std::sqrt(static_cast<double>(example.k) + 1));

          if (kernels::avx512_bfloat16())
            CHECK(example.multiplied(kernels::avx512_bfloat16(), start) == c);
          if (!kernels::amx_bfloat16()) continue;
          const std::vector<real> other = example.multiplied(kernels::amx_bfloat16(), start);
          double difference = 0;
          for (Index i = 0; i < example.m; ++i)
            for (Index j = 0; j < example.n; j += 1 + example.n / 20) {
              const auto at = static_cast<std::size_t>(i * example.n + j);
              difference = std::max(difference, std::abs(static_cast<double>(c[at]) - other[at]) /
                                                    (example.expected(i, j, start).second + 1e-30));
            }
          CHECK(difference < epsilon * std::sqrt(static_cast<double>(example.k) + 1));
        }
}

TEST_CASE("an element has the same bits in any tile of a bfloat16 product", "[kernels]") {
  const Product whole({40, 70, 1100}, false, false);
  for (const Bfloat16Product multiply :
       {&kernels::multiply_rounded, kernels::avx512_bfloat16(), kernels::amx_bfloat16()}) {
    if (multiply == nullptr) continue;
    const std::vector<real> c = whole.multiplied(multiply, 0);
    std::vector<real> tile(11 * 19);
    const MatrixView a{whole.a.data(), whole.k}, b{whole.b.data(), whole.n};
    multiply(11, 19, whole.k, a.from(21, 0), b.from(0, 37), {}, tile.data(), 19);
    Index other = 0;
    for (Index i = 0; i < 11; ++i)
      for (Index j = 0; j < 19; ++j)
        other += tile[static_cast<std::size_t>(i * 19 + j)] !=
                 c[static_cast<std::size_t>((i + 21) * whole.n + j + 37)];
    CHECK(other == 0);
  }
}
