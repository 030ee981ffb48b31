#include "tapegrad/nn/optimizers/ema.h"

#include <algorithm>
#include <utility>

#include "tapegrad/core/error.h"
#include "tapegrad/core/options.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/ops/elementwise.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// Calls `visit` for each parameter, then for each buffer.
template <class Visit>
void each_slot(const std::vector<Parameter>& parameters, const std::vector<Buffer>& buffers,
               const Visit& visit) {
  for (const Parameter& parameter : parameters) visit(parameter);
  for (const Buffer& buffer : buffers) visit(buffer);
}

}  // namespace

Ema::Ema(std::vector<Parameter> parameters, double decay)
    : parameters_(std::move(parameters)), decay_(expect_share("ema", "decay", decay)) {
  expect_distinct("ema", parameters_);
  for (const Parameter& parameter : parameters_) values_.push_back(parameter.value());
}

Ema::Ema(const Fields& net, double decay) : Ema(tapegrad::parameters(net), decay) {
  for (const auto& [name, buffer] : net.buffers()) {
    buffers_.push_back(buffer);
    values_.push_back(buffer.value());
  }
}

void Ema::update() {
  const NoGrad no_grad;
  const auto done = static_cast<double>(updates_++);
  const double decay = std::min(decay_, (1 + done) / (10 + done));
  auto average = values_.begin();
  each_slot(parameters_, buffers_, [&](const auto& slot) {
    *average = decay * *average + (1 - decay) * slot.value();
    ++average;
  });
}

void Ema::swap() {
  auto average = values_.begin();
  each_slot(parameters_, buffers_, [&](auto slot) {
    const Tensor current = slot.value();
    slot.set(*average);
    *average++ = current;
  });
}

void Ema::restore(std::vector<Tensor> values) {
  expect(values.size() == values_.size(), "ema: {} values restored, {} needed", values.size(),
         values_.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    expect(values[i].shape() == values_[i].shape(),
           "ema: an average of shape {} restored for {} {} of shape {}", values[i].shape(),
           i < parameters_.size() ? "parameter" : "buffer",
           i < parameters_.size() ? parameters_[i].name() : std::to_string(i - parameters_.size()),
           values_[i].shape());
  values_ = std::move(values);
}

void Ema::restore(std::vector<Tensor> values, Index updates) {
  expect(updates >= 0, "ema: {} updates restored", updates);
  restore(std::move(values));
  updates_ = updates;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
