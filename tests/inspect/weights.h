#pragma once

// A net that is a list of weights, and its loss, for free directions.

#include <vector>

#include "tapegrad/core/random.h"
#include "tapegrad/nn/fields.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::testing {

/// One weight, and whatever else a test needs.
struct Weights {
  std::vector<Parameter> list;
  void visit(Fields& field) const { field("w", list); }
};

inline Tensor squared_error(const Tensor& y) {
  return mean(square(y - Random(5).normal(y.shape())));
}

}  // namespace tapegrad::testing
