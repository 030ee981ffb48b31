#include "tapegrad/core/parameter.h"

#include <algorithm>

#include "tapegrad/core/error.h"
#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

Parameter::Parameter(const Tensor& value, std::string name) : slot_(std::make_shared<Slot>()) {
  slot_->name = std::move(name);
  if (value.defined()) slot_->value = detach(value);
}

Parameter::operator Tensor() const {
  Tape* tape = Tape::active();
  return tape == nullptr || !defined() ? value() : tape->leaf(*this);
}

void Parameter::set(const Tensor& value) {
  expect_defined("parameter: set", value);
  expect(!defined() || value.shape() == shape(),
         "parameter {}: a value of shape {} cannot replace one of shape {}", name(), value.shape(),
         shape());
  slot_->value = detach(value);
  ++slot_->changes;
}

real* Parameter::mutable_data() {
  if (defined() && !slot_->value.unique()) slot_->value = Tensor(shape(), value().values());
  ++slot_->changes;
  return slot_->value.mutable_data();
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
