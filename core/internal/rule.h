#pragma once

// What a tape is made of: nodes, and the rules by which gradient flows from a node to its inputs.

#include <cstdint>
#include <memory>

#include "tapegrad/core/place.h"
#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A gradient that belongs to a part of a tensor only, such as a slice. The sweep adds parts in
/// place, so that differentiating every slice of a long sequence costs as much as one pass over it.
class Part {
 public:
  virtual ~Part() = default;
  /// total (of the whole's shape) += part, at this part's position.
  virtual void add_to(Tensor& total, const Tensor& part) const = 0;
  /// The elements of `whole` at this part's position: an operation, recorded as such.
  virtual Tensor extract(const Tensor& whole) const = 0;
};

/// What a rule hands its gradients to: the running sweep.
class Sweep {
 public:
  virtual ~Sweep() = default;
  virtual bool wants(std::int32_t node) const = 0;
  /// Adds a gradient; one of a larger, broadcast shape is summed down to the node's.
  virtual void add(std::int32_t node, const Tensor& gradient) = 0;
  virtual void add(std::int32_t node, Tensor&& gradient) = 0;
  virtual void add_part(std::int32_t node, Tensor gradient, std::shared_ptr<const Part> part) = 0;
};

/// How gradient flows from a node to some of its inputs. Lives in the tape's arena.
struct Rule {
  virtual ~Rule() = default;
  /// g: the gradient of the node, for the last rule to take; y: its value, undefined unless a rule
  /// of the node asks for it.
  virtual void pull(Tensor& g, const Tensor& y, Sweep& sweep) = 0;
  /// Copies what the rule holds on to, for a StorageCensus to see.
  virtual void census() const = 0;

  Rule* next = nullptr;
  const std::int32_t* inputs = nullptr;
};

/// One recorded operation.
struct Node {
  const char* name = "";
  Shape shape;
  Place place;
  Tensor* value = nullptr;  ///< kept for rules that ask for it, or on a tape with `keep_values`
  Rule* rules = nullptr;
  const std::int32_t* inputs = nullptr;
  std::int32_t input_count = 0;
  bool released = false;  ///< the rules were used up by a sweep
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
