#pragma once

#include <memory>
#include <string>

#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A named value that training changes. Copies share one slot. Several threads may read a
/// parameter, each on its own tape, but not while `set` runs.
/// Example: `const Parameter gain(ones({6}), "gain"); x * gain`
class Parameter {
 public:
  /// An empty slot.
  Parameter() : Parameter(Tensor()) {}
  explicit Parameter(const Tensor& value, std::string name = "");

  /// The value, as a leaf of the active tape if there is one, so that `grad` can reach it.
  /// Undefined for an empty slot.
  operator Tensor() const;
  /// The value, on no tape.
  const Tensor& value() const { return slot_->value; }
  bool defined() const { return slot_->value.defined(); }
  const Shape& shape() const { return slot_->value.shape(); }
  /// Throws ShapeError for an undefined value and for a change of shape.
  void set(const Tensor& value);
  /// The values, for changing in place. They are copied first if a tape or a tensor shares them.
  /// Throws Error for an empty slot.
  real* mutable_data();
  /// How often `set` and `mutable_data` have been called.
  std::uint64_t changes() const { return slot_->changes; }

  /// The name that `Fields` first gave this slot ("hidden.weight").
  const std::string& name() const { return slot_->name; }
  void set_name(std::string name) { slot_->name = std::move(name); }
  /// Equal for copies of one parameter.
  const void* identity() const { return slot_.get(); }

 private:
  struct Slot {
    Tensor value;
    std::string name;
    std::uint64_t changes = 0;
  };
  std::shared_ptr<Slot> slot_;
};

/// A named value of a layer that optimizers do not see, such as a running average. Checkpoints keep
/// it. Copies share one slot.
/// Example: `Buffer mean(zeros({6})); mean.set(tapegrad::mean(x, 0))`
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(const Tensor& value) : parameter_(value) {}
  const Tensor& value() const { return parameter_.value(); }
  operator Tensor() const { return parameter_.value(); }
  /// Throws ShapeError unless the shapes agree.
  void set(const Tensor& value) { parameter_.set(value); }
  const void* identity() const { return parameter_.identity(); }

 private:
  Parameter parameter_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
