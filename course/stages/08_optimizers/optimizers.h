#pragma once

// Stage 8: SGD, momentum and Adam. Fill in what throws; add what you need.

#include <stdexcept>
#include <vector>

#include "tensor.h"

/// Gradient descent with momentum. For each number w of a parameter, with gradient g:
///   v = momentum v + g      w = w - rate v
/// v begins at 0.
class Sgd {
 public:
  explicit Sgd(double rate, double momentum = 0) {
    (void)rate, (void)momentum;
    throw std::logic_error("Sgd is not written yet");
  }

  /// Moves the parameters, which are the same ones at every step.
  ///   gradients: one for each parameter, of its shape
  /// Throws std::invalid_argument if they do not fit; that step then changes nothing at all.
  void step(std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients) {
    (void)parameters, (void)gradients;
    throw std::logic_error("Sgd::step is not written yet");
  }
};

/// Adam. For each number w of a parameter, with gradient g, at step t = 1, 2, ...:
///   m = beta1 m + (1 - beta1) g        v = beta2 v + (1 - beta2) g g
///   w = w - rate (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
/// m and v begin at 0.
class Adam {
 public:
  explicit Adam(double rate, double beta1 = 0.9, double beta2 = 0.999, double epsilon = 1e-8) {
    (void)rate, (void)beta1, (void)beta2, (void)epsilon;
    throw std::logic_error("Adam is not written yet");
  }

  /// Updates the parameters, as Sgd::step does.
  void step(std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients) {
    (void)parameters, (void)gradients;
    throw std::logic_error("Adam::step is not written yet");
  }
};
