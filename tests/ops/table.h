#pragma once

#include <string>
#include <vector>

#include "support/golden.h"
#include "tapegrad/ops/grad.h"

namespace tapegrad::testing {

/// An operation under test. Its inputs, value and gradients stand in a file of tests/golden under
/// the same name.
struct Row {
  std::string name;
  Function f;
  bool fused = false;        ///< compare it with its definition, too
  std::size_t optional = 0;  ///< how many of the last inputs may be undefined
  std::string file = "ops.json";
};

/// Every differentiable operation; .ci/check_rows asks for a row of each.
const std::vector<Row>& table();
/// Those of indices and of windows over images, which are part of the table.
std::vector<Row> indexing_rows();
std::vector<Row> windows_rows();
/// Those of ops/loss.h and ops/ctc.h, which are part of the table.
std::vector<Row> loss_rows();
/// Those of zoo/, which are part of the table.
std::vector<Row> zoo_rows();

Golden golden(const Row& row);

}  // namespace tapegrad::testing
