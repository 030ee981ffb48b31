#include "tapegrad/models/conv_net.h"

#include "tapegrad/ops/elementwise.h"

namespace tapegrad::TAPEGRAD_SCALAR {

ConvNet::ConvNet(Random& random, const ConvNetOptions& options)
    : first(1, 20, 5, random, {.weight_norm = options.norm.normalized_weights}),
      first_norm(options.norm, 20, Channels::second),
      second(20, 50, 5, random, {.weight_norm = options.norm.normalized_weights}),
      second_norm(options.norm, 50, Channels::second),
      hidden(800, 500, random, {.weight_norm = options.hidden_norm.normalized_weights}),
      hidden_norm(options.hidden_norm, 500),
      dropout{options.dropout},
      output(500, 10, random) {}

Tensor ConvNet::operator()(const Tensor& x, Mode mode) const {
  Tensor y = max_pool2d(relu(first_norm(first(x), mode)));
  y = max_pool2d(relu(second_norm(second(y), mode)));
  y = hidden_norm(hidden(Flatten()(y)), mode);
  return output(dropout(relu(y), mode));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
