#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tapegrad/nn/optimizers/centering.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Running statistics of an optimizer: one tensor for each parameter.
/// Example: `const Adam adam(parameters(net)); const Moments& mean = adam.moments()[0]`
struct Moments {
  std::string name;
  std::vector<Tensor> values;
};

/// How an optimizer treats some of its parameters. What is not given stays as it was.
/// Example: `Adam(parameters(net)).set_group({parameters(net)[0]}, {.learning_rate_factor = 0.1})`
struct ParameterGroup {
  std::optional<double> learning_rate_factor = {};  ///< times the optimizer's rate; at first 1
  std::optional<double> weight_decay = {};
  std::optional<Centering> center_gradients = {};  ///< before moments and decay
  std::optional<Centering> center_weights = {};    ///< after each step
};

/// Updates parameters by their gradients, in place. Constructors throw ArgumentError for no
/// parameter, for one that is listed twice or empty, for learning rates, epsilons and decays that
/// are negative or not finite, and for momentum, betas and alpha outside [0, 1).
///
/// All of them center gradients and weights on demand (`Centering`). Clipping is outside: clip
/// gradients before. Without decay, steps of `Sgd` along centered gradients have no mean. Steps
/// of optimizers that divide each element by its own root keep a little; centered weights have
/// none. The options leave vectors alone (`is_vector`), because gains are vectors; a group centers
/// the vectors that it names, such as the bias of a layer before a norm.
/// Example: `std::unique_ptr<Optimizer> optimizer = std::make_unique<Adam>(parameters(net))`
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// gradients: one for each of `parameters()`, of its shape, or undefined for a parameter without
  /// a gradient (`GradOptions::zeros`). The step skips such a parameter: value and moments stay, no
  /// decay acts, and it does not count in its bias correction. Throws ShapeError for others, and if
  /// all are undefined, before anything has changed.
  void step(const std::vector<Tensor>& gradients);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  double learning_rate() const { return learning_rate_; }
  /// Throws ArgumentError for a learning rate that is negative or not finite.
  void set_learning_rate(double learning_rate);
  /// Treats these parameters so from the next step on. It is not state: checkpoints do not keep it.
  /// Throws ArgumentError for no parameters and for some that are not among `parameters()`, and for
  /// a factor or a decay that is negative or not finite; nothing has changed then.
  /// Example: `AdamW(parameters(net)).set_group({parameters(net)[0]}, {.weight_decay = 0})`
  void set_group(const std::vector<Parameter>& some, ParameterGroup group);

  /// The state that a checkpoint keeps besides the parameters.
  Index steps() const { return steps_; }
  const std::vector<Moments>& moments() const { return moments_; }
  /// How many of the steps have skipped each parameter.
  const std::vector<Index>& skipped() const { return skipped_; }
  /// Throws ShapeError for moments of other names or shapes, ArgumentError for numbers of steps
  /// that do not fit. Without `skipped`, no step has skipped a parameter.
  void restore(Index steps, const std::vector<Moments>& moments, std::vector<Index> skipped = {});

 protected:
  /// name: the optimizer's, for messages.
  Optimizer(const char* name, std::vector<Parameter> parameters, double learning_rate,
            double weight_decay, std::vector<std::string> moments,
            Centering center_gradients = Centering::none,
            Centering center_weights = Centering::none);

  /// A parameter in a step, with its own learning rate, decay and number of steps before this one.
  /// Parameter and moments change.
  struct Slot {
    Parameter* parameter;
    const Tensor* gradient;
    Tensor* moments[2];
    double learning_rate, weight_decay;
    Index steps;
  };
  /// Takes a step. Optimizers that treat each element by itself call `in_runs`; those that see
  /// whole matrices compute with tensors.
  virtual void update(const std::vector<Slot>& slots) const = 0;

  /// Consecutive elements of a slot: w and moments change, g is the gradient.
  struct Run {
    Index count;
    real* w;
    const real* g;
    real* moments[2];
    double learning_rate, weight_decay;
    Index steps;
  };
  /// Calls `change` once for each element of the slots, for many runs in parallel.
  static void in_runs(const std::vector<Slot>& slots,
                      const std::function<void(const Run&)>& change);

 private:
  std::size_t position(const Parameter& parameter) const;

  const char* name_;
  std::vector<Parameter> parameters_;
  double learning_rate_;
  std::vector<double> learning_rate_factors_, weight_decays_;  // of each parameter
  std::vector<Centering> center_gradients_, center_weights_;   // of each parameter
  Index steps_ = 0;
  std::vector<Index> skipped_;  // of each parameter
  std::vector<Moments> moments_;
};

struct SgdOptions {
  double learning_rate = 1e-2;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;                       ///< added to the gradient, times the parameter
  Centering center_gradients = Centering::none;  ///< of matrices and filters
  Centering center_weights = Centering::none;    ///< of matrices and filters, after each step
};
/// Stochastic gradient descent with (Nesterov) momentum, as torch.optim.SGD.
/// Example: `Sgd(parameters(net), {.learning_rate = 0.1, .momentum = 0.9})`
class Sgd final : public Optimizer {
 public:
  explicit Sgd(std::vector<Parameter> parameters, SgdOptions options = {});

 private:
  void update(const std::vector<Slot>& slots) const override;
  SgdOptions options_;
};

struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;                       ///< added to the gradient, times the parameter
  Centering center_gradients = Centering::none;  ///< of matrices and filters
  Centering center_weights = Centering::none;    ///< of matrices and filters, after each step
};
/// Adam (Kingma and Ba 2015, algorithm 1), as torch.optim.Adam.
/// Example: `Adam(parameters(net), {.beta2 = 0.99}).step(grad(sum(net(x)), parameters(net)))`
class Adam : public Optimizer {
 public:
  explicit Adam(std::vector<Parameter> parameters, AdamOptions options = {});

 protected:
  enum class Decay { in_gradient, decoupled };
  Adam(const char* name, std::vector<Parameter> parameters, AdamOptions options, Decay decay);
  void update(const std::vector<Slot>& slots) const override;

 private:
  AdamOptions options_;
  Decay decay_;
};
struct AdamWOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay =
      0.01;  ///< times the learning rate: by how much a step shrinks the parameter
  bool matrices_only = false;                    ///< no decay of vectors (`is_vector`)
  Centering center_gradients = Centering::none;  ///< of matrices and filters
  Centering center_weights = Centering::none;    ///< of matrices and filters, after each step
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
  double weight_decay = 0;                       ///< added to the gradient, times the parameter
  Centering center_gradients = Centering::none;  ///< of matrices and filters
  Centering center_weights = Centering::none;    ///< of matrices and filters, after each step
};
/// Divides gradients by the root of their running mean square (Tieleman and Hinton 2012), as
/// torch.optim.RMSprop.
/// Example: `RmsProp(parameters(net), {.learning_rate = 1e-3})`
class RmsProp final : public Optimizer {
 public:
  explicit RmsProp(std::vector<Parameter> parameters, RmsPropOptions options = {});

 private:
  void update(const std::vector<Slot>& slots) const override;
  RmsPropOptions options_;
};

struct AdagradOptions {
  double learning_rate = 1e-2;
  double learning_rate_decay = 0;  ///< step t has learning_rate / (1 + (t - 1) decay)
  double epsilon = 1e-10;
  double weight_decay = 0;                       ///< added to the gradient, times the parameter
  Centering center_gradients = Centering::none;  ///< of matrices and filters
  Centering center_weights = Centering::none;    ///< of matrices and filters, after each step
};
/// Divides gradients by the root of the sum of their squares (Duchi et al. 2011), as
/// torch.optim.Adagrad.
/// Example: `Adagrad(parameters(net), {.learning_rate = 0.1})`
class Adagrad final : public Optimizer {
 public:
  explicit Adagrad(std::vector<Parameter> parameters, AdagradOptions options = {});

 private:
  void update(const std::vector<Slot>& slots) const override;
  AdagradOptions options_;
};

struct AdadeltaOptions {
  double learning_rate = 1;
  double rho = 0.9;  ///< the share of both mean squares kept in a step
  double epsilon = 1e-6;
  double weight_decay = 0;                       ///< added to the gradient, times the parameter
  Centering center_gradients = Centering::none;  ///< of matrices and filters
  Centering center_weights = Centering::none;    ///< of matrices and filters, after each step
};
/// Scales gradients by the quotient of two root mean squares, of past changes and past gradients
/// (Zeiler 2012, algorithm 1), as torch.optim.Adadelta.
/// Example: `Adadelta(parameters(net), {.rho = 0.95})`
class Adadelta final : public Optimizer {
 public:
  explicit Adadelta(std::vector<Parameter> parameters, AdadeltaOptions options = {});

 private:
  void update(const std::vector<Slot>& slots) const override;
  AdadeltaOptions options_;
};

struct LionOptions {
  double learning_rate = 1e-4;
  double beta1 = 0.9;       ///< the share of the mean in the direction of a step
  double beta2 = 0.99;      ///< the share of the mean kept in a step
  double weight_decay = 0;  ///< times the learning rate: by how much a step shrinks the parameter
  Centering center_gradients = Centering::none;  ///< of matrices and filters
  Centering center_weights = Centering::none;    ///< of matrices and filters, after each step
};
/// Moves each element by the learning rate, against the sign of a mean of gradients (Chen et al.
/// 2023, algorithm 2).
/// Example: `Lion(parameters(net), {.learning_rate = 1e-4, .weight_decay = 1})`
class Lion final : public Optimizer {
 public:
  explicit Lion(std::vector<Parameter> parameters, LionOptions options = {});

 private:
  void update(const std::vector<Slot>& slots) const override;
  LionOptions options_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
