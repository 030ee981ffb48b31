#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include "ops/table.h"
#include "support/values.h"
#include "tapegrad/core/random.h"
#include "tapegrad/nn/functions/dropout.h"
#include "tapegrad/nn/functions/loss.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/norm.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

const std::vector<real> not_finite{infinity, -infinity, no_number};

struct NonFiniteCase {
  std::string name;
  Function f;
  Tensors inputs;
};

Function of(Tensor (*f)(const Tensor&)) {
  return [f](const Tensors& x) { return f(x[0]); };
}
Tensor dropped(const Tensor& x) {
  Random random(3);
  return dropout(x, 0.5, random);
}

// All rows of the table, and what their inputs do not reach.
std::vector<NonFiniteCase> non_finite_cases() {
  std::vector<NonFiniteCase> all;
  for (const Row& row : table()) all.push_back({row.name, row.f, golden(row).inputs});
  const Tensor x({6}, {-2, -1, -0.5, 0.5, 1, 3});
  for (const auto& [name, f] : std::vector<std::pair<const char*, Tensor (*)(const Tensor&)>>{
           {"leaky_relu of slope 0", [](const Tensor& in) { return leaky_relu(in, 0); }},
           {"elu of alpha 0", [](const Tensor& in) { return elu(in, 0); }},
           {"dropout", dropped},
           {"dropout, its definition",
            [](const Tensor& in) {
              const Composite readable;
              return dropped(in);
            }},
           {"maximum of a number", [](const Tensor& in) { return maximum(in, 0.0); }},
           {"maximum of columns", [](const Tensor& in) {
              return maximum(in, Tensor({2, 1}, {0, 0.7}));
            }}})
    all.push_back({name, of(f), {x}});
  return all;
}

Tensor with(const Tensor& x, Index at, double value) {
  std::vector<real> values(x.values().begin(), x.values().end());
  values[static_cast<std::size_t>(at)] = static_cast<real>(value);
  return Tensor(x.shape(), values);
}
Tensors with(Tensors inputs, std::size_t input, Index at, double value) {
  inputs[input] = with(inputs[input], at, value);
  return inputs;
}

// Bit for bit, but NaN equals NaN.
bool same_or_nan(const Tensor& a, const Tensor& b) {
  return std::equal(a.values().begin(), a.values().end(), b.values().begin(), b.values().end(),
                    [](real x, real y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

// For each input, 1 at the elements on which the value does not depend: at a point nearby, moving
// such an element alone changes nothing. A product of zeros is not independent of them nearby.
Tensors idle_elements(const NonFiniteCase& each) {
  Random random(5);
  Tensors at;
  for (const Tensor& x : each.inputs) at.push_back(x + random.uniform(x.shape(), 0, 1e-3));
  const Tensor value = each.f(at);
  Tensors idle;
  for (std::size_t i = 0; i < at.size(); ++i) {
    Tensor marks = zeros(at[i].shape());
    for (Index j = 0; j < marks.size(); ++j) {
      const auto unchanged = [&](double by) {
        return same_or_nan(each.f(with(at, i, j, at[i].data()[j] + by)), value);
      };
      marks.mutable_data()[j] = unchanged(0.01) && unchanged(-0.01) ? 1 : 0;
    }
    idle.push_back(marks);
  }
  return idle;
}

// Attention multiplies what arrives by its weights, by the 0 of a hidden key too.
bool multiplies_weights(const NonFiniteCase& each) {
  return each.name.find("attention") != std::string::npos;
}

// The greatest of the marked elements in size, or NaN.
double at_marks(const Tensor& x, const Tensor& marks) {
  return max(abs(where(marks, x, 0.0))).item();
}

bool any(const Tensor& marks) { return marks.size() > 0 && max(marks).item() == 1; }

}  // namespace

TEST_CASE("where a value does not depend on an element, its gradient is 0 whatever arrives",
          "[ops]") {
  std::set<std::string> listed, tried;
  for (const NonFiniteCase& each : non_finite_cases()) {
    listed.insert(each.name);
    if (multiplies_weights(each)) continue;
    const Tensors idle = idle_elements(each);
    if (std::none_of(idle.begin(), idle.end(), any)) continue;
    tried.insert(each.name);
    const Shape shape = each.f(each.inputs).shape();
    for (const real arrives : not_finite) {
      INFO(each.name << ", where " << arrives << " arrives");
      const auto check = [&](const char* sweep, const Tensors& gradients) {
        for (std::size_t i = 0; i < gradients.size(); ++i) {
          INFO(sweep << ", input " << i << ": " << to_string(gradients[i]));
          CHECK((gradients[i].size() == 0 || at_marks(gradients[i], idle[i]) == 0));
        }
      };
      check("grad", vjp(each.f, each.inputs, full(shape, arrives)));
      {
        const Tape tape;
        check("a recorded sweep", vjp(each.f, each.inputs, full(shape, arrives)));
      }
      Tensors direction;
      for (const Tensor& marks : idle) direction.push_back(where(marks, arrives, 0.0));
      const Tensor along = jvp(each.f, each.inputs, direction);
      INFO("jvp: " << to_string(along));
      CHECK(max(abs(along)).item() == 0);
    }
  }
  for (const char* name : {"minimum",
                           "maximum",
                           "sign",
                           "floor",
                           "ceil",
                           "round",
                           "relu",
                           "leaky_relu of slope 0",
                           "elu of alpha 0",
                           "clamp",
                           "where",
                           "masked_fill",
                           "max",
                           "min",
                           "tril",
                           "slice",
                           "gather",
                           "pick",
                           "top_k",
                           "max_pool2d",
                           "dropout",
                           "hinge"}) {
    INFO(name);
    CHECK(tried.contains(name) == listed.contains(name));
  }
  CHECK_FALSE(tried.empty());
}

TEST_CASE("a NaN reaches the value that depends on its element, and then its gradient", "[ops]") {
  // The slopes of steps are 0 everywhere. Dropout and products have other factors, which may be 0.
  const std::set<std::string> without{"sign",       "floor",        "ceil",
                                      "round",      "dropout",      "dropout, its definition",
                                      "prod_zeros", "cumprod_zeros"};
  for (const NonFiniteCase& each : non_finite_cases()) {
    if (without.contains(each.name) || multiplies_weights(each)) continue;
    const Tensors idle = idle_elements(each);
    for (std::size_t i = 0; i < each.inputs.size(); ++i)
      for (Index j = 0; j < each.inputs[i].size(); ++j) {
        const Tensors inputs = with(each.inputs, i, j, no_number);
        const Tensor value = each.f(inputs);
        INFO(each.name << ", input " << i << ", element " << j);
        const bool reached = min(equal(value, value)).item() == 0;
        CHECK((reached || idle[i].data()[j] == 1));
        if (!reached) continue;
        for (const bool recorded : {false, true}) {
          std::optional<Tape> tape;
          if (recorded) tape.emplace();
          CHECK(vjp(each.f, inputs, ones(value.shape()))[i].data()[j] != 0);
        }
      }
  }
}

TEST_CASE("a slope of infinity ends where the value no longer depends on x", "[ops]") {
  struct Composition {
    const char* name;
    Tensor (*f)(const Tensor&);
    double at;
  };
  for (const auto& [name, f, at] : std::vector<Composition>{
           {"sqrt of maximum", [](const Tensor& x) { return sqrt(maximum(x, 0.0)); }, -1},
           {"log of minimum", [](const Tensor& x) { return log(minimum(0.0, x)); }, 1},
           {"reciprocal of relu", [](const Tensor& x) { return reciprocal(relu(x)); }, -1},
           {"root of clamp", [](const Tensor& x) { return pow(clamp(x, 0, 1), 0.5); }, -1},
           {"a sine of a cosine",
            [](const Tensor& x) { return sqrt(1.0 - square(clamp(x, -1, 1))); }, 1.5},
           {"entropy",
            [](const Tensor& x) {
              const Tensor p = clamp(x, 0, 1);
              return -p * log(p);
            },
            -0.5},
           {"sqrt of abs", [](const Tensor& x) { return sqrt(abs(x)); }, 0},
           {"log of floor", [](const Tensor& x) { return log(floor(x)); }, 0.5},
           {"log of ceil", [](const Tensor& x) { return log(ceil(x)); }, -0.5},
           {"log of round", [](const Tensor& x) { return log(round(x)); }, 0.3},
           {"sqrt of a sign", [](const Tensor& x) { return sqrt(1.0 - sign(x)); }, 2},
           {"log of a leaky_relu of slope 0", [](const Tensor& x) { return log(leaky_relu(x, 0)); },
            -1}}) {
    INFO(name);
    const Tape tape;
    const Tensor x = watch(Tensor(at));
    CHECK(grad(f(x), x).item() == 0);
    const Tensor slope = grad(f(x), x, {.record = true});
    CHECK(slope.item() == 0);
    CHECK(grad(slope + 0.0 * x, x).item() == 0);
  }
}

TEST_CASE("the gradient goes to the NaN operands", "[ops]") {
  const auto check = [](const Function& f, const Tensors& inputs, const Tensors& expected) {
    for (const bool recorded : {false, true}) {
      std::optional<Tape> tape;
      if (recorded) tape.emplace();
      const Tensor value = f(inputs);
      CHECK(std::all_of(value.values().begin(), value.values().end(),
                        [](real v) { return std::isnan(v); }));
      const Tensors gradients = vjp(f, inputs, ones(value.shape()));
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        INFO("input " << i << ": " << to_string(gradients[i]));
        CHECK(same_or_nan(gradients[i], expected[i]));
      }
    }
  };
  const Tensor a({3}, {no_number, 1, no_number}), b({3}, {1, no_number, no_number});
  const Tensor to_a({3}, {1, 0, 1}), to_b({3}, {0, 1, 1});
  check([](const Tensors& x) { return maximum(x[0], x[1]); }, {a, b}, {to_a, to_b});
  check([](const Tensors& x) { return minimum(x[0], x[1]); }, {a, b}, {to_a, to_b});
  check([](const Tensors& x) { return max(x[0]); }, {a}, {to_a / 2.0});
  check([](const Tensors& x) { return min(x[0]); }, {a}, {to_a / 2.0});
  const Tensor nan(no_number);
  check([](const Tensors& x) { return relu(x[0]); }, {nan}, {1.0});
  check([](const Tensors& x) { return leaky_relu(x[0], 0.25); }, {nan}, {0.25});
  check([](const Tensors& x) { return clamp(x[0], -1, 1); }, {nan}, {1.0});
  check([](const Tensors& x) { return abs(x[0]); }, {nan}, {nan});
  check([](const Tensors& x) { return hinge(x[0], Tensor(-1.0)); }, {nan}, {1.0});
}
