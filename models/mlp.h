#pragma once

#include "tapegrad/nn/layers/norm.h"
#include "tapegrad/nn/pytorch.h"
#include "tapegrad/ops/elementwise.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct MlpOptions {
  NormSpec norm = {};       ///< before each activation
  double dropout = 0;       ///< after each activation
  Layer activation = relu;  ///< such as gelu
};

/// Linear layers with an activation between them. `sizes` lists the channels from input to output.
///   x: (N, ...), sizes.front() values per row   returns (N, sizes.back())
/// Throws ArgumentError for fewer than two sizes and for sizes below 1.
/// Example: `Mlp({6, 32, 3}, random, {.norm = "layer"})(x)`
struct Mlp {
  std::vector<Layer> layers;

  Mlp(const std::vector<Index>& sizes, Random& random, const MlpOptions& options = {});
  Tensor operator()(const Tensor& x, Mode mode = {}) const;
  void visit(Fields& field) const { field("layers", layers); }
  /// nn.Sequential without nn.Flatten.
  void pytorch(PyTorchState& state) const { state.numbered(layers); }
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
