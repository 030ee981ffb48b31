#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>

#include "ops/table.h"
#include "support/golden.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

// With detached statistics, the gradient differs from the derivative on purpose.
bool differs_from_its_derivative(const Row& row) {
  return row.name.find("detached") != std::string::npos;
}

// Whether its gradient is 0 everywhere, so that no factor changes it.
bool is_flat(const Row& row) {
  const std::vector<Tensor> gradients = golden(row).gradients;
  return std::all_of(gradients.begin(), gradients.end(),
                     [](const Tensor& gradient) { return max(abs(gradient)).item() == 0; });
}

// Values and gradients, fused and composite.
void check_golden(const Row& row) {
  INFO("PyTorch: " << row.torch << " of " << row.inputs);
  const Golden expected = golden(row);
  CHECK(relative_error(row.f(expected.inputs), expected.value) < golden_tolerance);
  const std::vector<Tensor> gradients = vjp(row.f, expected.inputs, expected.seed);
  REQUIRE(gradients.size() == expected.gradients.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    INFO("gradient of input " << i << ": " << to_string(gradients[i]));
    CHECK(relative_error(gradients[i], expected.gradients[i]) < golden_tolerance);
  }
}

}  // namespace

TEST_CASE("every operation agrees with PyTorch", "[ops]") {
  for (const Row& row : table()) {
    DYNAMIC_SECTION(row.name) {
      check_golden(row);
      if (!row.fused) continue;
      const Composite readable;
      check_golden(row);
    }
  }
}

TEST_CASE("first and second derivatives agree with differences", "[ops]") {
  for (const Row& row : table()) {
    if (differs_from_its_derivative(row)) continue;
    DYNAMIC_SECTION(row.name) {
      const std::vector<Tensor> inputs = golden(row).inputs;
      const CheckResult first = check_gradient(row.f, inputs);
      INFO(first.message);
      CHECK(first);
      const CheckResult second = check_second_gradient(row.f, inputs);
      INFO(second.message);
      CHECK(second);
    }
  }
}

TEST_CASE("a gradient that is 1 percent off is refused", "[ops]") {
  if (sizeof(real) == 4) return;  // the tolerance of single precision is wider
  for (const Row& row : table()) {
    if (differs_from_its_derivative(row) || is_flat(row)) continue;
    DYNAMIC_SECTION(row.name) {
      const Function off = [&](const std::vector<Tensor>& x) {
        const Tensor y = row.f(x);
        return record("off", y.view(y.shape()), {},
                      edge(y, [](const Tensor& g) { return g * 1.01; }));
      };
      CHECK_FALSE(check_gradient(off, golden(row).inputs));
    }
  }
}

TEST_CASE("second gradients of fused operations equal their definitions'", "[ops]") {
  for (const Row& row : table()) {
    if (!row.fused) continue;
    DYNAMIC_SECTION(row.name) {
      const Golden at = golden(row);
      const auto twice = [&](bool readable) {
        std::optional<Composite> composite;
        if (readable) composite.emplace();
        const Function gradient = [&](const std::vector<Tensor>& x) {
          return vjp(row.f, {x.begin(), x.end() - 1}, x.back())[0];
        };
        std::vector<Tensor> inputs = at.inputs;
        inputs.push_back(at.seed);
        return vjp(gradient, inputs, square(at.inputs[0]));
      };
      const auto fused = twice(false), composite = twice(true);
      for (std::size_t i = 0; i < fused.size(); ++i)
        CHECK(relative_error(fused[i], composite[i]) < 10 * golden_tolerance);
    }
  }
}
