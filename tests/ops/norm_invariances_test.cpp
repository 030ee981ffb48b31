#include <catch2/catch.hpp>
#include <functional>
#include <optional>

#include "support/golden.h"
#include "tapegrad/core/random.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/nn/functions/conv.h"
#include "tapegrad/ops/affine.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/derivatives.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/norm.h"
#include "tapegrad/ops/normalize.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

constexpr double invariance_precision = sizeof(real) == 8 ? 1e-9 : 3e-4;

// What is done to a layer a = W x before normalization.
struct Change {
  const char* name;
  std::function<Tensor(const Tensor& w, const Tensor& x)> sums;  // w: (in, out)
};

const Index input_count = 5, output_count = 6, case_count = 7;

Tensor one_column(double factor) {
  Tensor scale = ones({output_count});
  scale.mutable_data()[2] = static_cast<real>(factor);
  return scale;
}

std::vector<Change> changes() {
  static const Tensor shift = Random(8).normal({input_count, 1}),
                      move = Random(9).normal({input_count});
  Tensor one_case = ones({case_count, 1}), case_shift = zeros({case_count, 1});
  one_case.mutable_data()[1] = 3;
  case_shift.mutable_data()[1] = 2;
  return {
      {"matrix rescaled", [](const Tensor& w, const Tensor& x) { return matmul(x, w * 3.0); }},
      {"matrix recentered", [](const Tensor& w, const Tensor& x) { return matmul(x, w + shift); }},
      {"one weight vector rescaled",
       [](const Tensor& w, const Tensor& x) { return matmul(x, w * one_column(3)); }},
      {"data rescaled", [](const Tensor& w, const Tensor& x) { return matmul(x * 3.0, w); }},
      {"data recentered", [](const Tensor& w, const Tensor& x) { return matmul(x + move, w); }},
      {"one case rescaled",
       [=](const Tensor& w, const Tensor& x) { return matmul(x * one_case, w); }},
      {"a constant added to the sums of a case",
       [=](const Tensor& w, const Tensor& x) { return matmul(x, w) + case_shift; }},
  };
}

}  // namespace

TEST_CASE("invariances of a linear layer", "[norm]") {
  Random random(7);
  const Tensor w = random.normal({input_count, output_count}),
               x = random.normal({case_count, input_count}, 0.5);
  const NormOptions sharp{.epsilon = 0}, smooth{.epsilon = 1};
  struct Method {
    const char* name;
    std::function<Tensor(const Tensor&)> norm;
    const char* invariant;  // y or -, change by change
  };
  const auto by = [](const NormFields& fields, const NormOptions& options) {
    return [=](const Tensor& a) { return normalize(a, fields, options); };
  };
  const NormField window{.window = {1}, .radius = 2};
  const Method methods[] = {
      {"batch", by(both({.axes = {0}}), sharp), "y-yyy--"},
      {"layer", by(both({.axes = {1}}), sharp), "yy-y-yy"},
      {"rms", by({.center = {}, .scale = {.axes = {1}}}, sharp), "y--y-y-"},
      {"group", by(both({.axes = {1}, .groups = 2}), sharp), "yy-y-yy"},
      {"divisive, no smoothing", by(both(window), sharp), "yy-y-yy"},
      {"divisive, smoothed", by(both(window), smooth), "-y----y"},
      {"none", [](const Tensor& a) { return a; }, "-------"},
  };
  for (const Method& method : methods) {
    const Tensor before = method.norm(matmul(x, w));
    const auto all = changes();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double change = relative_error(method.norm(all[i].sums(w, x)), before);
      CAPTURE(method.name, all[i].name, change);
      CHECK((change < invariance_precision) == (method.invariant[i] == 'y'));
    }
  }
  // A negative factor turns the sign.
  CHECK(relative_error(layer_norm(matmul(x, w * -2.0), sharp), -layer_norm(matmul(x, w), sharp)) <
        invariance_precision);
}

TEST_CASE("invariances under weight normalization", "[norm]") {
  Random random(10);
  const Tensor w = random.normal({input_count, output_count}),
               x = random.normal({case_count, input_count}, 0.5);
  const Tensor gain = random.uniform({1, output_count}, 0.5, 2);
  const auto layer = [&](const Tensor& v, const Tensor& in) {
    return matmul(in, weight_norm(v, gain, 0));
  };
  const Tensor before = layer(w, x);
  CHECK(relative_error(layer(w * 3.0, x), before) < invariance_precision);
  CHECK(relative_error(layer(w * one_column(3), x), before) < invariance_precision);
  CHECK(relative_error(layer(w + Random(8).normal({input_count, 1}), x), before) > 0.01);
  CHECK(relative_error(layer(w, x * 3.0), 3.0 * before) <
        invariance_precision);  // not invariant: scales along
  // followed by layer normalization: data rescaling too
  CHECK(relative_error(layer_norm(layer(w * one_column(3), x * 3.0), {.epsilon = 0}),
                       layer_norm(before, {.epsilon = 0})) < invariance_precision);
  // v . dl/dv = 0
  const Tensor g = random.normal(before.shape());
  const Tensor dv = vjp([&](const auto& in) { return layer(in[0], x); }, {w}, g)[0];
  CHECK(relative_error(sum(w * dv, 0) + 1.0, ones({output_count})) < 10 * invariance_precision);
}

TEST_CASE("invariances of a convolution", "[norm]") {
  Random random(11);
  const Tensor w = random.normal({4, 3, 3, 3}), x = random.normal({2, 3, 6, 6}, 0.4);
  const Tensor bank = random.normal({1, 3, 3, 3}), channel = random.normal({1, 3, 1, 1});
  Tensor filter = ones({4, 1, 1, 1}), one_case = ones({2, 1, 1, 1}), moved = zeros({2, 1, 1, 1});
  filter.mutable_data()[1] = 3;
  one_case.mutable_data()[1] = 3;
  moved.mutable_data()[1] = 2;
  const Tensor changed[] = {conv2d(x, w * 3.0),  conv2d(x, w + bank),    conv2d(x, w * filter),
                            conv2d(x * 3.0, w),  conv2d(x + channel, w), conv2d(x * one_case, w),
                            conv2d(x + moved, w)};
  struct Method {
    const char* name;
    NormField field;
    const char* invariant;  // y or -, change by change
  };
  const Method methods[] = {
      {"batch", {.axes = {0, 2, 3}}, "y-yyy--"},
      {"layer", {.axes = {1, 2, 3}}, "y--y-y-"},
      {"layer over channels", {.axes = {1}}, "yy-y-y-"},
      {"instance", {.axes = {2, 3}}, "y-yyyyy"},
      {"group", {.axes = {1, 2, 3}, .groups = 2}, "y--y-y-"},
  };
  const NormOptions sharp{.epsilon = 0};
  for (const Method& method : methods) {
    const Tensor before = normalize(conv2d(x, w), both(method.field), sharp);
    for (int i = 0; i < 7; ++i) {
      const double change =
          relative_error(normalize(changed[i], both(method.field), sharp), before);
      CAPTURE(method.name, i, change);
      CHECK((change < invariance_precision) == (method.invariant[i] == 'y'));
    }
  }
}

TEST_CASE("nothing remains of a constant row or column", "[norm]") {
  const NormField rows{.axes = {-1}}, columns{.axes = {0}}, groups{.axes = {-1}, .groups = 2};
  for (const bool composite : {false, true})
    for (const double value : {0.3, 1000.1, 1e6 + 0.3})
      for (const NormField& field : {rows, columns, groups})
        for (const Index extent : {3, 346}) {
          INFO((composite ? "composite, " : "fused, ") << value << ", " << extent);
          std::optional<Composite> scope;
          if (composite) scope.emplace();
          const Tensor y = normalize(full({extent, 2 * extent}, value), both(field));
          for (const real each : y.values()) CHECK(each == 0);
        }
}

// No running sum of these numbers is exact, unlike one of whole numbers.
TEST_CASE("statistics of many rows keep their digits", "[norm]") {
  const Index count = 1'000'000;  // half of them 0.1, and half 0.7
  Tensor x = Tensor::uninitialized({count, 2});
  for (Index i = 0; i < 2 * count; ++i)
    x.mutable_data()[i] = static_cast<real>(i / 2 % 2 == 0 ? 0.1 : 0.7);
  const Tape tape;
  const Tensor in = watch(x), gain = watch(full({2}, 1)), bias = watch(zeros({2}));
  const Tensor y = normalize(in, both({.axes = {0}}), {.epsilon = 0});
  for (Index i = 0; i < 4; ++i)
    CHECK(y.values()[i] == Approx(i < 2 ? -1 : 1).epsilon(invariance_precision / 30));
  const Tensor equal_slopes = grad(sum(y * 0.1), in);
  for (Index i = 0; i < 4; ++i)
    CHECK(equal_slopes.values()[i] == Approx(0).margin(invariance_precision / 300));
  for (const Tensor& z : {y * gain + bias, affine(y, gain, bias)}) {
    const auto gradients = grad(sum(z * x), {gain, bias});
    for (Index i = 0; i < 2; ++i) {
      CHECK(gradients[0].values()[i] == Approx(3e5).epsilon(invariance_precision / 30));
      CHECK(gradients[1].values()[i] == Approx(4e5).epsilon(invariance_precision / 30));
    }
  }
}
