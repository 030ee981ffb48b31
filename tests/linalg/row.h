#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "support/golden.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad::testing {

/// An operation of linear algebra; its values stand in tests/golden/linalg.json.
struct LinalgRow {
  std::string name;
  Function f;
};

/// Several results as one, in the order of linalg.json.
inline Tensor joined(const std::vector<Tensor>& parts) {
  std::vector<Tensor> flat;
  for (const Tensor& part : parts) flat.push_back(reshape(part, {part.size()}));
  return concat(flat);
}

inline void check_golden(const LinalgRow& row) {
  const Golden expected = golden("linalg.json", row.name);
  CHECK(relative_error(row.f(expected.inputs), expected.value) < 10 * golden_tolerance);
  const std::vector<Tensor> gradients = vjp(row.f, expected.inputs, expected.seed);
  REQUIRE(gradients.size() == expected.gradients.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    INFO("gradient of input " << i << ": " << to_string(gradients[i]));
    CHECK(relative_error(gradients[i], expected.gradients[i]) < 20 * golden_tolerance);
  }
}

/// In double precision: the differences of single precision are too coarse where a is nearly
/// singular.
inline void check_derivatives(const LinalgRow& row) {
  if (sizeof(real) == 4) return;
  const std::vector<Tensor> inputs = golden("linalg.json", row.name).inputs;
  const CheckResult first = check_gradient(row.f, inputs, {.step = 1e-4});
  INFO(first.message);
  CHECK(first);
  const CheckResult second = check_second_gradient(row.f, inputs, {.step = 1e-4});
  INFO(second.message);
  CHECK(second);
}

}  // namespace tapegrad::testing
