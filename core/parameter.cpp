#include "tapegrad/core/parameter.h"

#include <algorithm>

#include "tapegrad/core/error.h"
#include "tapegrad/core/tape.h"

namespace tapegrad {

Parameter::Parameter(const Tensor& value, std::string name)
    : slot_(std::make_shared<Slot>(Slot{value.view(value.shape()), std::move(name)})) {}

Parameter::operator Tensor() const {
  Tape* tape = Tape::active();
  return tape == nullptr ? value() : tape->leaf(*this);
}

void Parameter::set(const Tensor& value) {
  expect(!defined() || value.shape() == shape(), "parameter {}: shape {} cannot be set to {}",
         name(), shape(), value.shape());
  slot_->value = value.view(value.shape());
}

real* Parameter::mutable_data() {
  if (!slot_->value.unique()) slot_->value = Tensor(shape(), value().values());
  return slot_->value.mutable_data();
}

}  // namespace tapegrad
