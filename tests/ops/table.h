#pragma once

#include <string>
#include <vector>

#include "tapegrad/ops/grad.h"

namespace tapegrad::testing {

/// An operation under test. Its inputs, value and gradients stand in tests/golden/ops.json under
/// the same name.
struct Row {
  std::string name;
  Function f;
  bool fused = false;        ///< compare it with its definition, too
  std::size_t optional = 0;  ///< how many of the last inputs may be undefined
};

/// Every differentiable operation; .ci/check_rows asks for a row of each.
const std::vector<Row>& table();

}  // namespace tapegrad::testing
