#include "tapegrad/nn/optimizers/optimizer.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <list>

#include "tapegrad/core/error.h"
#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/machine/profile.h"
#include "tapegrad/core/options.h"
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
                     double weight_decay, std::vector<std::string> moments,
                     Centering center_gradients, Centering center_weights)
    : name_(name),
      parameters_(std::move(parameters)),
      learning_rate_factors_(parameters_.size(), 1),
      weight_decays_(parameters_.size(), expect_not_negative(name, "weight_decay", weight_decay)),
      skipped_(parameters_.size(), 0) {
  set_learning_rate(learning_rate);
  expect<ArgumentError>(!parameters_.empty(),
                        "{}: there are no parameters; if a filter chose them by shape: "
                        "shape().rank() counts axes, shape().size() elements",
                        name_);
  expect_distinct(name_, parameters_);
  expect<ArgumentError>(moments.size() <= std::size(Slot{}.moments),
                        "{}: it has {} moments; a step has room for {}", name_, moments.size(),
                        std::size(Slot{}.moments));
  for (const Parameter& parameter : parameters_) {
    const bool vector = is_vector(parameter.shape());
    center_gradients_.push_back(vector ? Centering::none : center_gradients);
    center_weights_.push_back(vector ? Centering::none : center_weights);
  }
  for (std::string& moment : moments) {
    moments_.push_back({std::move(moment), {}});
    for (const Parameter& parameter : parameters_)
      moments_.back().values.push_back(zeros(parameter.shape()));
  }
}

void Optimizer::set_learning_rate(double learning_rate) {
  learning_rate_ = expect_not_negative(name_, "learning_rate", learning_rate);
}

std::size_t Optimizer::position(const Parameter& parameter) const {
  const auto found =
      std::find_if(parameters_.begin(), parameters_.end(),
                   [&](const Parameter& each) { return each.identity() == parameter.identity(); });
  expect<ArgumentError>(found != parameters_.end(),
                        "{}: a group has a parameter that is not the optimizer's: {}", name_,
                        parameter.name());
  return static_cast<std::size_t>(found - parameters_.begin());
}

void Optimizer::set_group(const std::vector<Parameter>& some, ParameterGroup group) {
  expect<ArgumentError>(!some.empty(), "{}: a group has no parameters", name_);
  if (group.learning_rate_factor)
    expect_not_negative(name_, "learning_rate_factor", *group.learning_rate_factor);
  if (group.weight_decay) expect_not_negative(name_, "weight_decay", *group.weight_decay);
  std::vector<std::size_t> positions;
  for (const Parameter& parameter : some) positions.push_back(position(parameter));
  for (const std::size_t i : positions) {
    learning_rate_factors_[i] = group.learning_rate_factor.value_or(learning_rate_factors_[i]);
    weight_decays_[i] = group.weight_decay.value_or(weight_decays_[i]);
    center_gradients_[i] = group.center_gradients.value_or(center_gradients_[i]);
    center_weights_[i] = group.center_weights.value_or(center_weights_[i]);
  }
}

void Optimizer::step(const std::vector<Tensor>& gradients) {
  const ProfileSpan span("optimizer");
  expect(gradients.size() == parameters_.size(), "{}: {} gradients for {} parameters", name_,
         gradients.size(), parameters_.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    expect(!gradients[i].defined() || gradients[i].shape() == parameter.shape(),
           "{}: gradient {} has another shape: {} for parameter {} of shape {}", name_, i,
           gradients[i].shape(), parameter.name(), parameter.shape());
  }

  expect(std::any_of(gradients.begin(), gradients.end(),
                     [](const Tensor& gradient) { return gradient.defined(); }),
         "{}: all gradients are undefined: there is no parameter to change", name_);

  std::vector<Slot> slots;
  std::list<Tensor> centered_gradients;  // a list, since slots point to its elements
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    const bool centers = center_gradients_[i] != Centering::none;
    if (centers) centered_gradients.push_back(centered(gradients[i], center_gradients_[i]));
    Slot slot{.parameter = &parameters_[i],
              .gradient = centers ? &centered_gradients.back() : &gradients[i],
              .moments = {},
              .learning_rate = learning_rate_ * learning_rate_factors_[i],
              .weight_decay = weight_decays_[i],
              .steps = steps_ - skipped_[i]};
    for (std::size_t m = 0; m < moments_.size(); ++m) slot.moments[m] = &moments_[m].values[i];
    slots.push_back(slot);
  }
  update(slots);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!gradients[i].defined())
      ++skipped_[i];
    else if (center_weights_[i] != Centering::none)
      center(parameters_[i], center_weights_[i]);
  }
  ++steps_;
}

void Optimizer::in_runs(const std::vector<Slot>& slots,
                        const std::function<void(const Run&)>& change) {
  std::vector<Run> runs;
  for (const Slot& slot : slots) {
    const Index count = slot.gradient->size();
    Run whole{count,
              slot.parameter->mutable_data(),
              slot.gradient->data(),
              {},
              slot.learning_rate,
              slot.weight_decay,
              slot.steps};
    Index kept = 1;  // the weights and the moments
    for (std::size_t m = 0; m < std::size(slot.moments) && slot.moments[m] != nullptr; ++m) {
      whole.moments[m] = own(*slot.moments[m]).mutable_data();
      ++kept;
    }
    count_pass((kept + 1) * count, kept * count);
    for (Index begin = 0; begin < count; begin += elements_per_tile) {
      Run run = whole;
      run.count = std::min(elements_per_tile, count - begin);
      run.w += begin;
      run.g += begin;
      for (real*& moment : run.moments)
        if (moment != nullptr) moment += begin;
      runs.push_back(run);
    }
  }
  parallel_for(static_cast<Index>(runs.size()), [&](Index i) { change(runs[i]); });
}

void Optimizer::restore(Index steps, const std::vector<Moments>& moments,
                        std::vector<Index> skipped) {
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
  skipped.resize(skipped.empty() ? parameters_.size() : skipped.size());
  expect<ArgumentError>(skipped.size() == parameters_.size() &&
                            std::all_of(skipped.begin(), skipped.end(),
                                        [&](Index each) { return 0 <= each && each <= steps; }),
                        "{}: of {} steps, others were skipped than {} parameters can have skipped",
                        name_, steps, parameters_.size());
  std::vector<Moments> copies = moments;
  for (Moments& each : copies)
    for (Tensor& value : each.values) value = Tensor(value.shape(), value.values());
  steps_ = steps;
  skipped_ = std::move(skipped);
  moments_ = std::move(copies);
}

Sgd::Sgd(std::vector<Parameter> parameters, SgdOptions options)
    : Optimizer("sgd", std::move(parameters), options.learning_rate, options.weight_decay,
                {"velocity"}, options.center_gradients, options.center_weights),
      options_(options) {
  expect_share("sgd", "momentum", options.momentum);
  expect<ArgumentError>(!options.nesterov || options.momentum > 0,
                        "sgd: nesterov needs momentum: {}", options.momentum);
}

void Sgd::update(const std::vector<Slot>& slots) const {
  in_runs(slots, [this](const Run& run) {
    const kernels::Sgd step{.rate = run.learning_rate,
                            .momentum = options_.momentum,
                            .decay = run.weight_decay,
                            .nesterov = options_.nesterov,
                            .first_step = run.steps == 0};
    kernels::optimizers().sgd(step, run.count, run.w, run.g, run.moments[0]);
  });
}

Adam::Adam(std::vector<Parameter> parameters, AdamOptions options)
    : Adam("adam", std::move(parameters), options, Decay::in_gradient) {}

Adam::Adam(const char* name, std::vector<Parameter> parameters, AdamOptions options, Decay decay)
    : Optimizer(name, std::move(parameters), options.learning_rate, options.weight_decay,
                {"mean", "square"}, options.center_gradients, options.center_weights),
      options_(options),
      decay_(decay) {
  expect_share(name, "beta1", options.beta1);
  expect_share(name, "beta2", options.beta2);
  expect_not_negative(name, "epsilon", options.epsilon);
}

AdamW::AdamW(std::vector<Parameter> list, AdamWOptions options)
    : Adam("adamw", std::move(list),
           {.learning_rate = options.learning_rate,
            .beta1 = options.beta1,
            .beta2 = options.beta2,
            .epsilon = options.epsilon,
            .weight_decay = options.weight_decay,
            .center_gradients = options.center_gradients,
            .center_weights = options.center_weights},
           Decay::decoupled) {
  if (!options.matrices_only) return;
  for (const Parameter& parameter : parameters())
    if (is_vector(parameter.shape())) set_group({parameter}, {.weight_decay = 0});
}

void Adam::update(const std::vector<Slot>& slots) const {
  const bool decoupled = decay_ == Decay::decoupled;
  in_runs(slots, [=, this](const Run& run) {
    const auto t = static_cast<double>(run.steps + 1);
    const kernels::Adam step{
        .beta1 = options_.beta1,
        .beta2 = options_.beta2,
        .epsilon = options_.epsilon,
        .step_size = run.learning_rate / (1 - std::pow(options_.beta1, t)),
        .root_correction = 1 / std::sqrt(1 - std::pow(options_.beta2, t)),
        .decay = decoupled ? 0 : run.weight_decay,
        .shrink = decoupled ? 1 - run.learning_rate * run.weight_decay : 1,
    };
    kernels::optimizers().adam(step, run.count, run.w, run.g, run.moments[0], run.moments[1]);
  });
}

RmsProp::RmsProp(std::vector<Parameter> parameters, RmsPropOptions options)
    : Optimizer("rms_prop", std::move(parameters), options.learning_rate, options.weight_decay,
                {"square", "velocity"}, options.center_gradients, options.center_weights),
      options_(options) {
  expect_share("rms_prop", "alpha", options.alpha);
  expect_not_negative("rms_prop", "epsilon", options.epsilon);
  expect_share("rms_prop", "momentum", options.momentum);
}

void RmsProp::update(const std::vector<Slot>& slots) const {
  in_runs(slots, [this](const Run& run) {
    const kernels::RmsProp step{.rate = run.learning_rate,
                                .alpha = options_.alpha,
                                .epsilon = options_.epsilon,
                                .momentum = options_.momentum,
                                .decay = run.weight_decay};
    kernels::optimizers().rms_prop(step, run.count, run.w, run.g, run.moments[0], run.moments[1]);
  });
}

Adagrad::Adagrad(std::vector<Parameter> parameters, AdagradOptions options)
    : Optimizer("adagrad", std::move(parameters), options.learning_rate, options.weight_decay,
                {"square_sum"}, options.center_gradients, options.center_weights),
      options_(options) {
  expect_not_negative("adagrad", "learning_rate_decay", options.learning_rate_decay);
  expect_not_negative("adagrad", "epsilon", options.epsilon);
}

void Adagrad::update(const std::vector<Slot>& slots) const {
  in_runs(slots, [this](const Run& run) {
    const double divisor = 1 + static_cast<double>(run.steps) * options_.learning_rate_decay;
    const kernels::Adagrad step{.rate = run.learning_rate / divisor,
                                .epsilon = options_.epsilon,
                                .decay = run.weight_decay};
    kernels::optimizers().adagrad(step, run.count, run.w, run.g, run.moments[0]);
  });
}

Adadelta::Adadelta(std::vector<Parameter> parameters, AdadeltaOptions options)
    : Optimizer("adadelta", std::move(parameters), options.learning_rate, options.weight_decay,
                {"square", "change_square"}, options.center_gradients, options.center_weights),
      options_(options) {
  expect_share("adadelta", "rho", options.rho);
  expect_not_negative("adadelta", "epsilon", options.epsilon);
}

void Adadelta::update(const std::vector<Slot>& slots) const {
  in_runs(slots, [this](const Run& run) {
    const kernels::Adadelta step{.rate = run.learning_rate,
                                 .rho = options_.rho,
                                 .epsilon = options_.epsilon,
                                 .decay = run.weight_decay};
    kernels::optimizers().adadelta(step, run.count, run.w, run.g, run.moments[0], run.moments[1]);
  });
}

Lion::Lion(std::vector<Parameter> parameters, LionOptions options)
    : Optimizer("lion", std::move(parameters), options.learning_rate, options.weight_decay,
                {"mean"}, options.center_gradients, options.center_weights),
      options_(options) {
  expect_share("lion", "beta1", options.beta1);
  expect_share("lion", "beta2", options.beta2);
}

void Lion::update(const std::vector<Slot>& slots) const {
  in_runs(slots, [this](const Run& run) {
    const kernels::Lion step{.rate = run.learning_rate,
                             .beta1 = options_.beta1,
                             .beta2 = options_.beta2,
                             .shrink = 1 - run.learning_rate * run.weight_decay};
    kernels::optimizers().lion(step, run.count, run.w, run.g, run.moments[0]);
  });
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
