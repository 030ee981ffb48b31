#include "tapegrad/nn/optimizers/ema.h"

#include "tapegrad/core/error.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/nn/options.h"
#include "tapegrad/ops/elementwise.h"

namespace tapegrad::TAPEGRAD_SCALAR {

Ema::Ema(std::vector<Parameter> parameters, double decay)
    : parameters_(std::move(parameters)), decay_(expect_share("ema", "decay", decay)) {
  expect_distinct("ema", parameters_);
  for (const Parameter& parameter : parameters_) values_.push_back(parameter.value());
}

void Ema::update() {
  const NoGrad no_grad;
  for (std::size_t i = 0; i < values_.size(); ++i)
    values_[i] = decay_ * values_[i] + (1 - decay_) * parameters_[i].value();
}

void Ema::swap() {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Tensor current = parameters_[i].value();
    parameters_[i].set(values_[i]);
    values_[i] = current;
  }
}

void Ema::restore(std::vector<Tensor> values) {
  expect(values.size() == values_.size(), "ema: {} values restored, {} needed", values.size(),
         values_.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    expect(values[i].shape() == values_[i].shape(),
           "ema: an average of shape {} restored for parameter {} of shape {}", values[i].shape(),
           parameters_[i].name(), values_[i].shape());
  values_ = std::move(values);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
