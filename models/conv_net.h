#pragma once

#include "tapegrad/nn/layers/conv.h"
#include "tapegrad/nn/layers/dropout.h"
#include "tapegrad/nn/layers/linear.h"
#include "tapegrad/nn/layers/norm.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct ConvNetOptions {
  NormSpec norm = {};         ///< before the ReLU of each convolution
  NormSpec hidden_norm = {};  ///< before the ReLU of the hidden linear layer
  double dropout = 0;         ///< after it
};

/// The classic convolutional network for 28 x 28 images in ten classes (as in Xu et al. 2019,
/// section 2.2): 5 x 5 convolutions with 1-20 and 20-50 channels, each with ReLU and 2 x 2
/// max-pooling, then linear 800-500, ReLU, linear 500-10.
///   x: (N, 1, 28, 28)   returns (N, 10)
/// Example: `ConvNet(random, {.norm = "batch"})(random.uniform({2, 1, 28, 28}), training(random))`
struct ConvNet {
  Conv2d first;
  Norm first_norm;
  Conv2d second;
  Norm second_norm;
  Linear hidden;
  Norm hidden_norm;
  Dropout dropout;
  Linear output;

  explicit ConvNet(Random& random, const ConvNetOptions& options = {});
  Tensor operator()(const Tensor& x, Mode mode = {}) const;
  void visit(Fields& field) const {
    field("first", first);
    field("first_norm", first_norm);
    field("second", second);
    field("second_norm", second_norm);
    field("hidden", hidden);
    field("hidden_norm", hidden_norm);
    field("output", output);
  }
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
