#pragma once

#include <vector>

#include "tapegrad/nn/layers/layer.h"
#include "tapegrad/nn/pytorch.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Layers one after another. Functions are layers too:
///
///     Sequential net{Linear(784, 100, random), Norm("layer", 100), relu, Linear(100, 10, random)};
/// Example: `Sequential{Linear(6, 8, random), Norm("layer", 8), relu, Linear(8, 3, random)}(x)`
struct Sequential {
  std::vector<Layer> layers;

  Sequential() = default;
  Sequential(std::initializer_list<Layer> list) : layers(list) {}
  void add(Layer layer) { layers.push_back(std::move(layer)); }

  Tensor operator()(const Tensor& x, Mode mode = {}, Place place = Place::here()) const {
    const OperationScope scope("sequential", place, x);
    Tensor y = x;
    for (const Layer& layer : layers) y = layer(y, mode);
    return y;
  }
  void visit(Fields& field) const { field("layers", layers); }
  /// nn.Sequential; functions count as modules.
  void pytorch(PyTorchState& state) const { state.numbered(layers); }
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
