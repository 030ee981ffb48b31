#pragma once

// The parts of a tape: nodes, and the rules that pass gradients from a node to its inputs.

#include <cstdint>
#include <memory>

#include "tapegrad/core/place.h"
#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The position of a part of a tensor, such as a slice. The sweep adds gradients of parts in place,
/// so differentiating every slice of a long sequence costs no more than one pass over it.
class Part {
 public:
  virtual ~Part() = default;
  /// total (of the whole's shape) += part, at this position.
  virtual void add_to(Tensor& total, const Tensor& part) const = 0;
  /// The elements of `whole` at this position, as a recorded operation.
  virtual Tensor extract(const Tensor& whole) const = 0;
};

/// The running sweep, to which rules hand their gradients.
class Sweep {
 public:
  virtual ~Sweep() = default;
  virtual bool wants(std::int32_t node) const = 0;
  /// Adds a gradient. One of a larger, broadcast shape is first summed to the node's shape.
  virtual void add(std::int32_t node, const Tensor& gradient) = 0;
  virtual void add(std::int32_t node, Tensor&& gradient) = 0;
  virtual void add_part(std::int32_t node, Tensor gradient, std::shared_ptr<const Part> part) = 0;
};

/// Computes the gradients of some of a node's inputs. Lives in the tape's arena.
struct Rule {
  virtual ~Rule() = default;
  /// g: the gradient of the node, which the last rule may move from. y: its value, undefined unless
  /// a rule of the node asks for it.
  virtual void pull(Tensor& g, const Tensor& y, Sweep& sweep) = 0;
  /// Copies everything the rule keeps alive, so that a StorageCensus sees it.
  virtual void census() const = 0;

  Rule* next = nullptr;
  const std::int32_t* inputs = nullptr;
};

/// How an input that is the detached value of a node differs from other constants, on a tape with
/// `keep_values`: by this negative number. Applied to such a number, it returns the node.
constexpr std::int32_t detached_input(std::int32_t node) { return -2 - node; }

/// One recorded operation.
struct Node {
  const char* name = "";
  Shape shape;
  Place place;
  Tensor* value = nullptr;  ///< kept for rules that need it, or on a tape with `keep_values`
  Rule* rules = nullptr;
  const std::int32_t* inputs = nullptr;  ///< nodes; -1: a constant; or as by `detached_input`
  std::int32_t input_count = 0;
  bool released = false;  ///< a sweep has used up the rules
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
