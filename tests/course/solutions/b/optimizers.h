#pragma once

// The formulas as they stand, with tensors for numbers.

#include <cmath>

#include "tensor.h"

struct Moments {
  Tensor first, second;
};

inline Tensor number(double x) { return {{}, {x}}; }

inline void check_shapes(const std::vector<Tensor>& ws, const std::vector<Tensor>& gs) {
  bool fit = ws.size() == gs.size();
  for (std::size_t k = 0; fit && k < ws.size(); ++k) fit = ws[k].shape == gs[k].shape;
  if (!fit) throw std::invalid_argument("the gradients do not have the parameters' shapes");
}

class Sgd {
 public:
  explicit Sgd(double rate, double momentum = 0) : rate(number(rate)), momentum(number(momentum)) {}

  void step(std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients) {
    check_shapes(parameters, gradients);
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      if (k == velocities.size()) velocities.push_back(number(0));
      velocities[k] = momentum * velocities[k] + gradients[k];
      parameters[k] = parameters[k] - rate * velocities[k];
    }
  }

 private:
  Tensor rate, momentum;
  std::vector<Tensor> velocities;
};

class Adam {
 public:
  explicit Adam(double rate, double beta1 = 0.9, double beta2 = 0.999, double epsilon = 1e-8)
      : rate(rate), beta1(beta1), beta2(beta2), epsilon(epsilon) {}

  void step(std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients) {
    check_shapes(parameters, gradients);
    t += 1;
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      if (k == moments.size()) moments.push_back({number(0), number(0)});
      auto& [m, v] = moments[k];
      const Tensor& g = gradients[k];
      m = mixed(m, g, beta1);
      v = mixed(v, g * g, beta2);
      const Tensor root = map(corrected(v, beta2), [](double x) { return std::sqrt(x); });
      parameters[k] = parameters[k] - number(rate) * corrected(m, beta1) / (root + number(epsilon));
    }
  }

 private:
  static Tensor mixed(const Tensor& old, const Tensor& fresh, double beta) {
    return number(beta) * old + number(1 - beta) * fresh;
  }
  Tensor corrected(const Tensor& average, double beta) const {
    return average / number(1 - std::pow(beta, t));
  }

  double rate, beta1, beta2, epsilon, t = 0;
  std::vector<Moments> moments;
};
