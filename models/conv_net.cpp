#include "tapegrad/models/conv_net.h"

#include "tapegrad/ops/elementwise.h"

namespace tapegrad {

ConvNet::ConvNet(Random& random, ConvNetOptions options)
    : first(1, 20, 5, random),
      second(20, 50, 5, random),
      hidden(800, 500, random),
      dropout{options.dropout},
      output(500, 10, random) {
  if (options.layer_norm) norm.emplace(500);
}

Tensor ConvNet::operator()(const Tensor& x, Mode mode) const {
  Tensor y = max_pool2d(relu(first(x)));
  y = max_pool2d(relu(second(y)));
  y = hidden(Flatten()(y));
  if (norm) y = (*norm)(y);
  return output(dropout(relu(y), mode));
}

}  // namespace tapegrad
