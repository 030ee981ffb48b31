// The sixteen forms of a normalization: its value or x, its factor 1/s or 1, and its projections.

#include <catch2/catch.hpp>
#include <cmath>
#include <optional>

#include "ops/check_same.h"
#include "support/golden.h"
#include "tapegrad/core/random.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/derivatives.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/norm.h"
#include "tapegrad/ops/normalize.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

constexpr double definition_precision = sizeof(real) == 8 ? 1e-12 : 2e-5;

std::vector<NormOptions> sixteen_forms(double epsilon) {
  std::vector<NormOptions> forms;
  for (int bits = 0; bits < 16; ++bits)
    forms.push_back({.epsilon = epsilon,
                     .detach_mean = (bits & 1) != 0,
                     .detach_scale = (bits & 2) != 0,
                     .identity_forward = (bits & 4) != 0,
                     .unit_factor = (bits & 8) != 0});
  return forms;
}

/// One row of the table, in plain loops: the gradient of a form, from g and x.
std::vector<double> gradient_of_table(const NormOptions& form, const std::vector<double>& x,
                                      const std::vector<double>& g) {
  const auto n = static_cast<double>(x.size());
  double mean = 0, variance = 0, g_mean = 0, projection = 0;
  for (const double each : x) mean += each / n;
  for (const double each : x) variance += (each - mean) * (each - mean) / n;
  const double s = std::sqrt(variance + form.epsilon);
  for (std::size_t i = 0; i < x.size(); ++i) {
    g_mean += g[i] / n;
    projection += g[i] * (x[i] - mean) / s / n;
  }
  std::vector<double> d;
  for (std::size_t i = 0; i < x.size(); ++i)
    d.push_back((g[i] - (form.detach_mean ? 0 : g_mean) -
                 (form.detach_scale ? 0 : projection * (x[i] - mean) / s)) /
                (form.unit_factor ? 1 : s));
  return d;
}

std::vector<double> row_of(const Tensor& x, Index row) {
  const Tensor chosen = select(x, row);
  return {chosen.data(), chosen.data() + chosen.size()};
}

}  // namespace

TEST_CASE("the gradients of the sixteen forms agree with their table", "[norm]") {
  Random random(11);
  const Tensor x = random.normal({5, 7}, 1, 2), g = random.normal({5, 7}, 0.5, 1);
  for (const double epsilon : {0.0, 0.3})
    for (const NormOptions& form : sixteen_forms(epsilon))
      for (const bool readable : {false, true}) {
        std::optional<Composite> composite;
        if (readable) composite.emplace();
        CAPTURE(epsilon, form.detach_mean, form.detach_scale, form.identity_forward,
                form.unit_factor, readable);
        const auto f = [&](const Tensor& in) { return layer_norm(in, form); };
        const Tensor d = gradient(f, x, g), z = layer_norm(x, {.epsilon = epsilon});
        for (Index row = 0; row < 5; ++row) {
          const std::vector<double> expected =
                                        gradient_of_table(form, row_of(x, row), row_of(g, row)),
                                    found = row_of(d, row);
          for (std::size_t i = 0; i < found.size(); ++i)
            CHECK(found[i] ==
                  Approx(expected[i]).epsilon(definition_precision).margin(definition_precision));
        }
        // Normalizing columns is another kernel.
        const auto columns = [&](const Tensor& in) {
          return normalize(in, both({.axes = {0}}), form);
        };
        CHECK(relative_error(transpose(gradient(columns, transpose(x), transpose(g))), d) <
              definition_precision);
        if (!form.detach_mean) CHECK(norm(mean(d, -1)).item() < definition_precision);
        if (!form.detach_scale && epsilon == 0)
          CHECK(norm(mean(d * z, -1)).item() < definition_precision);
      }
}

TEST_CASE("the value of a form is x or the normalized x", "[norm]") {
  // Entries of other sizes than their deviation, so that a difference and a sum would round.
  const Tensor x = Random(12).normal({4, 9}, 1000, 1e-3), z = layer_norm(x);
  for (const NormOptions& form : sixteen_forms(1e-5)) {
    const Tensor y = layer_norm(x, form), expected = form.identity_forward ? x : z;
    for (Index i = 0; i < x.size(); ++i) CHECK(y.data()[i] == expected.data()[i]);
    const Composite composite;
    CHECK(relative_error(layer_norm(x, form), form.identity_forward ? x : z) <
          (form.identity_forward ? definition_precision : 0.01));
  }
}

TEST_CASE("the value x of a form leads no derivative past it", "[norm]") {
  const Tape tape;
  const Tensor x = watch(Random(13).normal({2, 4}));
  const NoGrad no_grad;
  CHECK_FALSE(tape.holds(layer_norm(x, {.identity_forward = true})));
}

// A form is the gradient of w(x) + c, with all that it detaches held constant. Of that function,
// differences can be taken.
TEST_CASE("second derivatives of the sixteen forms", "[norm]") {
  Random random(14);
  const Tensor x = random.normal({3, 5}), u = random.normal({3, 5}), v = random.normal({3, 5});
  const Tensor mu = mean(x, -1, Keep::yes), s = sqrt(var(x, -1, Keep::yes) + 0.2);
  for (const NormOptions& form : sixteen_forms(0.2)) {
    CAPTURE(form.detach_mean, form.detach_scale, form.identity_forward, form.unit_factor);
    const auto w = [&](const Tensor& in) {
      const Tensor center = mean(in, -1, Keep::yes);
      const Tensor scale = sqrt(mean(square(in - center), -1, Keep::yes) + 0.2);
      const Tensor z = (in - (form.detach_mean ? mu : center)) / (form.detach_scale ? s : scale);
      return form.unit_factor ? s * z : z;
    };
    const Tensor rest = layer_norm(x, form) - w(x);
    const auto held = [&](const Tensor& in) { return sum(u * tanh(w(in) + rest)); };
    CHECK(check_second_gradient([&](const auto& in) { return held(in[0]); }, {x}));
    const auto formed = [&](const Tensor& in) { return sum(u * tanh(layer_norm(in, form))); };
    CHECK(relative_error(hvp(formed, x, v), hvp(held, x, v)) < 100 * definition_precision);
  }
}

TEST_CASE("a learned smoothing term has a gradient in every form", "[norm]") {
  const Tensor x = Random(15).normal({2, 6}), g = Random(16).normal({2, 6});
  const auto slope = [&](const NormOptions& form) {
    return vjp([&](const auto& in) { return normalize(x, both({.axes = {-1}}), form, in[0]); },
               {Tensor(0.5)}, g)[0]
        .item();
  };
  CHECK(slope({.identity_forward = true}) == Approx(slope({})));
  CHECK(slope({.detach_scale = true, .unit_factor = true}) == 0);
}
