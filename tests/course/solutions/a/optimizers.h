#pragma once

// Tensors beside the parameters, and loops over their numbers.

#include <cmath>

#include "tensor.h"

inline void expect_gradients_fit(const std::vector<Tensor>& parameters,
                                 const std::vector<Tensor>& gradients) {
  if (parameters.size() != gradients.size())
    throw std::invalid_argument("step: needs a gradient for each parameter");
  for (std::size_t k = 0; k < parameters.size(); ++k)
    if (parameters[k].shape != gradients[k].shape)
      throw std::invalid_argument("step: a gradient needs the shape of its parameter");
}

inline std::vector<Tensor> zeros_like(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> zeros;
  for (const Tensor& each : tensors) zeros.push_back(filled(each.shape, 0));
  return zeros;
}

class Sgd {
 public:
  explicit Sgd(double rate, double momentum = 0) : rate_(rate), momentum_(momentum) {}

  void step(std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients) {
    expect_gradients_fit(parameters, gradients);
    if (velocity_.empty()) velocity_ = zeros_like(parameters);
    for (std::size_t k = 0; k < parameters.size(); ++k)
      for (std::size_t i = 0; i < parameters[k].values.size(); ++i) {
        double& v = velocity_[k].values[i];
        v = momentum_ * v + gradients[k].values[i];
        parameters[k].values[i] -= rate_ * v;
      }
  }

 private:
  double rate_, momentum_;
  std::vector<Tensor> velocity_;
};

class Adam {
 public:
  explicit Adam(double rate, double beta1 = 0.9, double beta2 = 0.999, double epsilon = 1e-8)
      : rate_(rate), beta1_(beta1), beta2_(beta2), epsilon_(epsilon) {}

  void step(std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients) {
    expect_gradients_fit(parameters, gradients);
    if (steps_ == 0) first_ = second_ = zeros_like(parameters);
    ++steps_;
    const double share1 = 1 - std::pow(beta1_, steps_), share2 = 1 - std::pow(beta2_, steps_);
    for (std::size_t k = 0; k < parameters.size(); ++k)
      for (std::size_t i = 0; i < parameters[k].values.size(); ++i) {
        const double g = gradients[k].values[i];
        double &m = first_[k].values[i], &v = second_[k].values[i];
        m = beta1_ * m + (1 - beta1_) * g;
        v = beta2_ * v + (1 - beta2_) * g * g;
        parameters[k].values[i] -= rate_ * (m / share1) / (std::sqrt(v / share2) + epsilon_);
      }
  }

 private:
  double rate_, beta1_, beta2_, epsilon_;
  int steps_ = 0;
  std::vector<Tensor> first_, second_;
};
