#include "tapegrad/models/mlp.h"

#include "tapegrad/core/error.h"
#include "tapegrad/core/options.h"
#include "tapegrad/nn/layers/conv.h"
#include "tapegrad/nn/layers/dropout.h"
#include "tapegrad/nn/layers/linear.h"

namespace tapegrad::TAPEGRAD_SCALAR {

Mlp::Mlp(const std::vector<Index>& sizes, Random& random, const MlpOptions& options) {
  expect<ArgumentError>(sizes.size() >= 2,
                        "mlp: needs at least the sizes of input and output: {} given",
                        sizes.size());
  for (const Index size : sizes) expect_positive("mlp", "size", size);
  expect_share("mlp", "dropout", options.dropout);
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    layers.push_back(
        Linear(sizes[i], sizes[i + 1], random, {.weight_norm = options.norm.normalized_weights}));
    if (i + 2 == sizes.size()) break;
    if (options.norm.method->normalizes) layers.push_back(Norm(options.norm, sizes[i + 1]));
    layers.push_back(options.activation);
    if (options.dropout > 0) layers.push_back(Dropout{options.dropout});
  }
}

Tensor Mlp::operator()(const Tensor& x, Mode mode) const {
  Tensor y = Flatten()(x);
  for (const Layer& layer : layers) y = layer(y, mode);
  return y;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
