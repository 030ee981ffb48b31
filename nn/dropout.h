#pragma once

#include "tapegrad/nn/layer.h"
#include "tapegrad/ops/dropout.h"

namespace tapegrad {

/// `dropout` while training, the identity otherwise.
struct Dropout {
  double rate = 0.5;

  Tensor operator()(const Tensor& x, Mode mode = {}) const {
    return mode.is_training() ? dropout(x, rate, *mode.random) : x;
  }
};

}  // namespace tapegrad
