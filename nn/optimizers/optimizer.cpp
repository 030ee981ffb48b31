#include "tapegrad/nn/optimizers/optimizer.h"

#include <cmath>

#include "tapegrad/core/error.h"
#include "tapegrad/core/parallel.h"
#include "tapegrad/core/profile.h"
#include "tapegrad/nn/options.h"
#include "tapegrad/ops/kernels/optimizer.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// Makes a copy first if someone else still shares the moment.
Tensor& own(Tensor& moment) {
  if (!moment.unique()) moment = Tensor(moment.shape(), moment.values());
  return moment;
}

}  // namespace

Optimizer::Optimizer(const char* name, std::vector<Parameter> parameters, double learning_rate,
                     std::vector<std::string> moments)
    : name_(name), parameters_(std::move(parameters)) {
  set_learning_rate(learning_rate);
  expect_distinct(name_, parameters_);
  for (std::string& moment : moments) {
    moments_.push_back({std::move(moment), {}});
    for (const Parameter& parameter : parameters_)
      moments_.back().values.push_back(zeros(parameter.shape()));
  }
}

void Optimizer::set_learning_rate(double learning_rate) {
  learning_rate_ = expect_not_negative(name_, "learning_rate", learning_rate);
}

void Optimizer::step(const std::vector<Tensor>& gradients) {
  const ProfileSpan span("optimizer");
  expect(gradients.size() == parameters_.size(), "{}: {} gradients for {} parameters", name_,
         gradients.size(), parameters_.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    expect(gradients[i].defined(), "{}: gradient {} is undefined: for parameter {} of shape {}",
           name_, i, parameter.name(), parameter.shape());
    expect(gradients[i].shape() == parameter.shape(),
           "{}: gradient {} has another shape: {} for parameter {} of shape {}", name_, i,
           gradients[i].shape(), parameter.name(), parameter.shape());
  }

  std::vector<Run> runs;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    Run whole{gradients[i].shape().rank(),
              gradients[i].size(),
              parameters_[i].mutable_data(),
              gradients[i].data(),
              {}};
    for (std::size_t m = 0; m < moments_.size(); ++m)
      whole.moments[m] = own(moments_[m].values[i]).mutable_data();
    const auto kept = static_cast<Index>(moments_.size()) + 1;  // the moments and the weights
    count_pass((kept + 1) * whole.count, kept * whole.count);
    for (Index begin = 0; begin < whole.count; begin += elements_per_tile) {
      Run run{whole.rank,
              std::min(elements_per_tile, whole.count - begin),
              whole.w + begin,
              whole.g + begin,
              {}};
      for (std::size_t m = 0; m < moments_.size(); ++m) run.moments[m] = whole.moments[m] + begin;
      runs.push_back(run);
    }
  }
  ++steps_;
  parallel_for(static_cast<Index>(runs.size()), [&](Index i) { update(runs[i]); });
}

void Optimizer::restore(Index steps, const std::vector<Moments>& moments) {
  expect(moments.size() == moments_.size(), "{}: {} kinds of moments restored, {} needed", name_,
         moments.size(), moments_.size());
  for (std::size_t m = 0; m < moments.size(); ++m) {
    expect(moments[m].name == moments_[m].name && moments[m].values.size() == parameters_.size(),
           "{}: moments {} of {} parameters restored, {} of {} needed", name_, moments[m].name,
           moments[m].values.size(), moments_[m].name, parameters_.size());
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      expect(moments[m].values[i].shape() == parameters_[i].shape(),
             "{}: {} of shape {} restored for parameter {} of shape {}", name_, moments[m].name,
             moments[m].values[i].shape(), parameters_[i].name(), parameters_[i].shape());
  }
  expect_not_negative(name_, "steps", steps);
  std::vector<Moments> copies = moments;
  for (Moments& each : copies)
    for (Tensor& value : each.values) value = Tensor(value.shape(), value.values());
  steps_ = steps;
  moments_ = std::move(copies);
}

Sgd::Sgd(std::vector<Parameter> parameters, SgdOptions options)
    : Optimizer("sgd", std::move(parameters), options.learning_rate, {"velocity"}),
      options_(options) {
  expect_share("sgd", "momentum", options.momentum);
  expect_not_negative("sgd", "weight_decay", options.weight_decay);
  expect<ArgumentError>(!options.nesterov || options.momentum > 0,
                        "sgd: nesterov needs momentum: {}", options.momentum);
}

void Sgd::update(const Run& run) const {
  const kernels::Sgd step{.rate = learning_rate(),
                          .momentum = options_.momentum,
                          .decay = options_.weight_decay,
                          .nesterov = options_.nesterov,
                          .first_step = steps() == 1};
  kernels::optimizers().sgd(step, run.count, run.w, run.g, run.moments[0]);
}

Adam::Adam(std::vector<Parameter> parameters, AdamOptions options)
    : Adam("adam", std::move(parameters), options, Decay::in_gradient) {}

Adam::Adam(const char* name, std::vector<Parameter> parameters, AdamOptions options, Decay decay)
    : Optimizer(name, std::move(parameters), options.learning_rate, {"mean", "square"}),
      options_(options),
      decay_(decay) {
  expect_share(name, "beta1", options.beta1);
  expect_share(name, "beta2", options.beta2);
  expect_not_negative(name, "epsilon", options.epsilon);
  expect_not_negative(name, "weight_decay", options.weight_decay);
}

AdamW::AdamW(std::vector<Parameter> parameters, AdamWOptions options)
    : Adam("adamw", std::move(parameters),
           {.learning_rate = options.learning_rate,
            .beta1 = options.beta1,
            .beta2 = options.beta2,
            .epsilon = options.epsilon,
            .weight_decay = options.weight_decay},
           Decay::decoupled) {
  matrices_only_ = options.matrices_only;
}

void Adam::update(const Run& run) const {
  const auto t = static_cast<double>(steps());
  const bool decoupled = decay_ == Decay::decoupled;
  const double decay = matrices_only_ && run.rank < 2 ? 0 : options_.weight_decay;
  const kernels::Adam step{
      .beta1 = options_.beta1,
      .beta2 = options_.beta2,
      .epsilon = options_.epsilon,
      .step_size = learning_rate() / (1 - std::pow(options_.beta1, t)),
      .root_correction = 1 / std::sqrt(1 - std::pow(options_.beta2, t)),
      .decay = decoupled ? 0 : decay,
      .shrink = decoupled ? 1 - learning_rate() * decay : 1,
  };
  kernels::optimizers().adam(step, run.count, run.w, run.g, run.moments[0], run.moments[1]);
}

RmsProp::RmsProp(std::vector<Parameter> parameters, RmsPropOptions options)
    : Optimizer("rms_prop", std::move(parameters), options.learning_rate, {"square", "velocity"}),
      options_(options) {
  expect_share("rms_prop", "alpha", options.alpha);
  expect_not_negative("rms_prop", "epsilon", options.epsilon);
  expect_share("rms_prop", "momentum", options.momentum);
  expect_not_negative("rms_prop", "weight_decay", options.weight_decay);
}

void RmsProp::update(const Run& run) const {
  const kernels::RmsProp step{.rate = learning_rate(),
                              .alpha = options_.alpha,
                              .epsilon = options_.epsilon,
                              .momentum = options_.momentum,
                              .decay = options_.weight_decay};
  kernels::optimizers().rms_prop(step, run.count, run.w, run.g, run.moments[0], run.moments[1]);
}

Adagrad::Adagrad(std::vector<Parameter> parameters, AdagradOptions options)
    : Optimizer("adagrad", std::move(parameters), options.learning_rate, {"square_sum"}),
      options_(options) {
  expect_not_negative("adagrad", "learning_rate_decay", options.learning_rate_decay);
  expect_not_negative("adagrad", "epsilon", options.epsilon);
  expect_not_negative("adagrad", "weight_decay", options.weight_decay);
}

void Adagrad::update(const Run& run) const {
  const auto before = static_cast<double>(steps() - 1);
  const kernels::Adagrad step{.rate = learning_rate() / (1 + before * options_.learning_rate_decay),
                              .epsilon = options_.epsilon,
                              .decay = options_.weight_decay};
  kernels::optimizers().adagrad(step, run.count, run.w, run.g, run.moments[0]);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
