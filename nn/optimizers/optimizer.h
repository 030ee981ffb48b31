#pragma once

#include <string>
#include <vector>

#include "tapegrad/core/parameter.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Running statistics of an optimizer: one tensor for each parameter.
/// Example: `const Adam adam(parameters(net)); const Moments& mean = adam.moments()[0]`
struct Moments {
  std::string name;
  std::vector<Tensor> values;
};

/// Updates parameters by their gradients, in place. Each step is one parallel pass over all of
/// them. Constructors throw ArgumentError for a parameter that is listed twice or empty, for
/// learning rates, epsilons and decays that are negative or not finite, and for momentum, betas and
/// alpha outside [0, 1).
/// Example: `std::unique_ptr<Optimizer> optimizer = std::make_unique<Adam>(parameters(net))`
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// gradients: one for each of `parameters()`, of its shape. Throws ShapeError otherwise, before
  /// anything has changed.
  void step(const std::vector<Tensor>& gradients);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  double learning_rate() const { return learning_rate_; }
  /// Throws ArgumentError for a learning rate that is negative or not finite.
  void set_learning_rate(double learning_rate);

  /// The state that a checkpoint keeps besides the parameters.
  Index steps() const { return steps_; }
  const std::vector<Moments>& moments() const { return moments_; }
  /// Throws ShapeError for moments of other names or shapes.
  void restore(Index steps, const std::vector<Moments>& moments);

 protected:
  /// name: the optimizer's, for messages.
  Optimizer(const char* name, std::vector<Parameter> parameters, double learning_rate,
            std::vector<std::string> moments);
  /// Consecutive elements of one parameter: w and moments change, g is the gradient.
  struct Run {
    int rank;  ///< of the parameter
    Index count;
    real* w;
    const real* g;
    real* moments[2];
  };
  virtual void update(const Run& run) const = 0;

 private:
  const char* name_;
  std::vector<Parameter> parameters_;
  double learning_rate_;
  Index steps_ = 0;
  std::vector<Moments> moments_;
};

struct SgdOptions {
  double learning_rate = 1e-2;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;  ///< added to the gradient, times the parameter
};
/// Stochastic gradient descent with (Nesterov) momentum, as torch.optim.SGD.
/// Example: `Sgd(parameters(net), {.learning_rate = 0.1, .momentum = 0.9})`
class Sgd final : public Optimizer {
 public:
  explicit Sgd(std::vector<Parameter> parameters, SgdOptions options = {});

 private:
  void update(const Run& run) const override;
  SgdOptions options_;
};

struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;  ///< added to the gradient, times the parameter
};
/// Adam (Kingma and Ba 2015, algorithm 1), as torch.optim.Adam.
/// Example: `Adam(parameters(net), {.beta2 = 0.99}).step(grad(sum(net(x)), parameters(net)))`
class Adam : public Optimizer {
 public:
  explicit Adam(std::vector<Parameter> parameters, AdamOptions options = {});

 protected:
  enum class Decay { in_gradient, decoupled };
  Adam(const char* name, std::vector<Parameter> parameters, AdamOptions options, Decay decay);

 private:
  void update(const Run& run) const override;
  AdamOptions options_;
  Decay decay_;

 protected:
  bool matrices_only_ = false;
};
struct AdamWOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay =
      0.01;  ///< times the learning rate: by how much a step shrinks the parameter
  bool matrices_only = false;  ///< no decay of gains, biases and other vectors
};
/// Adam with decoupled weight decay (Loshchilov and Hutter 2019), as torch.optim.AdamW.
/// Example: `AdamW(parameters(net), {.weight_decay = 0.1, .matrices_only = true})`
class AdamW final : public Adam {
 public:
  explicit AdamW(std::vector<Parameter> parameters, AdamWOptions options = {});
};

struct RmsPropOptions {
  double learning_rate = 1e-2;
  double alpha = 0.99;  ///< the share of the mean square kept in a step
  double epsilon = 1e-8;
  double momentum = 0;
  double weight_decay = 0;  ///< added to the gradient, times the parameter
};
/// Divides gradients by the root of their running mean square (Tieleman and Hinton 2012), as
/// torch.optim.RMSprop.
/// Example: `RmsProp(parameters(net), {.learning_rate = 1e-3})`
class RmsProp final : public Optimizer {
 public:
  explicit RmsProp(std::vector<Parameter> parameters, RmsPropOptions options = {});

 private:
  void update(const Run& run) const override;
  RmsPropOptions options_;
};

struct AdagradOptions {
  double learning_rate = 1e-2;
  double learning_rate_decay = 0;  ///< step t has learning_rate / (1 + (t - 1) decay)
  double epsilon = 1e-10;
  double weight_decay = 0;  ///< added to the gradient, times the parameter
};
/// Divides gradients by the root of the sum of their squares (Duchi et al. 2011), as
/// torch.optim.Adagrad.
/// Example: `Adagrad(parameters(net), {.learning_rate = 0.1})`
class Adagrad final : public Optimizer {
 public:
  explicit Adagrad(std::vector<Parameter> parameters, AdagradOptions options = {});

 private:
  void update(const Run& run) const override;
  AdagradOptions options_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
