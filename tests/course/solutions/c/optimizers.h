#pragma once

// All numbers of all parameters in one row; an optimizer is a rule for one number and its memory.

#include <algorithm>
#include <array>
#include <cmath>

#include "tensor.h"

template <std::size_t count>
class Memory {
 public:
  // rule(w, g, what is remembered of w)
  template <class RuleOfOne>
  void for_each(std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients,
                const RuleOfOne& rule) {
    std::size_t at = 0;
    for (std::size_t k = 0; k < parameters.size(); ++k)
      for (std::size_t i = 0; i < parameters[k].values.size(); ++i, ++at) {
        if (at == cells_.size()) cells_.push_back({});
        rule(parameters[k].values[i], gradients[k].values[i], cells_[at]);
      }
  }

  static void check(const std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients) {
    const auto same = [](const Tensor& a, const Tensor& b) { return a.shape == b.shape; };
    if (!std::equal(parameters.begin(), parameters.end(), gradients.begin(), gradients.end(), same))
      throw std::invalid_argument("optimizer: parameters and gradients differ in shape");
  }

 private:
  std::vector<std::array<double, count>> cells_;
};

class Sgd {
 public:
  explicit Sgd(double rate, double momentum = 0) : rate_(rate), momentum_(momentum) {}

  void step(std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients) {
    memory_.check(parameters, gradients);
    memory_.for_each(parameters, gradients, [this](double& w, double g, auto& cell) {
      // The distance moved rather than the velocity.
      cell[0] = momentum_ * cell[0] - rate_ * g;
      w += cell[0];
    });
  }

 private:
  double rate_, momentum_;
  Memory<1> memory_;
};

class Adam {
 public:
  explicit Adam(double rate, double beta1 = 0.9, double beta2 = 0.999, double epsilon = 1e-8)
      : rate_(rate), beta1_(beta1), beta2_(beta2), epsilon_(epsilon) {}

  void step(std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients) {
    memory_.check(parameters, gradients);
    left1_ *= beta1_;
    left2_ *= beta2_;
    // Both corrections moved out of the loop: into the rate, and into epsilon.
    const double root = std::sqrt(1 - left2_), rate = rate_ * root / (1 - left1_);
    memory_.for_each(parameters, gradients, [&](double& w, double g, auto& cell) {
      cell[0] += (1 - beta1_) * (g - cell[0]);
      cell[1] += (1 - beta2_) * (g * g - cell[1]);
      w -= rate * cell[0] / (std::sqrt(cell[1]) + epsilon_ * root);
    });
  }

 private:
  double rate_, beta1_, beta2_, epsilon_;
  double left1_ = 1, left2_ = 1;  // the powers of beta
  Memory<2> memory_;
};
