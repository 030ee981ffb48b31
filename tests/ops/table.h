#pragma once

#include <string>
#include <vector>

#include "support/golden.h"
#include "support/values.h"
#include "tapegrad/ops/derivatives.h"
#include "tapegrad/ops/grad.h"

namespace tapegrad::testing {

/// An operation under test. tests/golden/ops.py draws its inputs a, b, ..., and writes them with
/// the value and the gradients that PyTorch finds.
struct Row {
  std::string name;
  std::string torch;   ///< what PyTorch computes, of a, b, ...
  std::string inputs;  ///< how they are drawn
  Function f;
  bool fused = false;        ///< compare it with its definition, too
  std::size_t optional = 0;  ///< how many of the last inputs may be undefined
};

/// Every differentiable operation; .ci/check_rows asks for a row of each.
const std::vector<Row>& table();
/// Rows of indexing and of windows over images, which are part of the table.
std::vector<Row> indexing_rows();
std::vector<Row> windows_rows();
/// Rows of losses and similarities in nn/functions/, which are part of the table.
std::vector<Row> loss_rows();

Golden golden(const Row& row);

}  // namespace tapegrad::testing
