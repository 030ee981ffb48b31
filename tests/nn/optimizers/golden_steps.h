#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "support/golden.h"
#include "tapegrad/core/parameter.h"

namespace tapegrad::testing {

/// Ten steps on gradients that a script in tests/golden drew, from its start to its end.
/// `make(parameters)` returns a pointer to the optimizer.
template <class Make>
void check_golden_steps(const std::string& file, const std::string& row, const Make& make,
                        double tolerance = golden_tolerance) {
  INFO(row);
  const Golden expected = golden(file, row);
  Parameter w(expected.inputs[0]);
  const auto optimizer = make(std::vector{w});
  for (std::size_t i = 1; i < expected.inputs.size(); ++i) optimizer->step({expected.inputs[i]});
  CHECK(relative_error(w.value(), expected.value) < tolerance);
}

/// Compares with the values of tests/golden/optimizers.py: this optimizer of w, of this shape.
template <class Make>
void check_steps(const std::string& torch, const std::string& shape, const Make& make,
                 double tolerance = golden_tolerance) {
  check_golden_steps("optimizers.json", torch + " of " + shape, make, tolerance);
}

}  // namespace tapegrad::testing
