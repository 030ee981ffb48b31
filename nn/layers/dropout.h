#pragma once

#include "tapegrad/core/options.h"
#include "tapegrad/nn/functions/dropout.h"
#include "tapegrad/nn/layers/layer.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// `dropout` while training, the identity otherwise. Throws ArgumentError for a rate outside [0,
/// 1).
/// Example: `Dropout(0.1)(x, training(random))`
struct Dropout {
  double rate;

  explicit Dropout(double share = 0.5) : rate(expect_share("Dropout", "rate", share)) {}
  Tensor operator()(const Tensor& x, Mode mode = {}, Place place = Place::here()) const {
    const OperationScope scope("dropout", place, x);
    return mode.is_training() ? dropout(x, rate, *mode.random) : x;
  }
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
