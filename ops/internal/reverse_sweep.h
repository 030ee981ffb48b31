#pragma once

// The sweep behind `grad` and `recompute`.

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tapegrad/core/tape.h"
#include "tapegrad/ops/grad.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// One reverse pass over those nodes in [first, last] that depend on some x. Inside an outer sweep,
/// it passes gradients of earlier nodes on to that sweep.
class ReverseSweep final : public Sweep {
 public:
  ReverseSweep(Tape& tape, std::int32_t first, std::int32_t last, const GradOptions& options,
               Sweep* outer = nullptr);

  /// Marks an x: its gradient stays after the sweep has used it.
  void keep(std::int32_t node);
  /// Marks the nodes that depend on an x: those with an input that does.
  void mark_dependents();
  /// Runs the rules backwards. Calls `ready` with each x whose gradient is final.
  void run(const std::function<void(std::int32_t node, const Tensor& gradient)>& ready = {});
  const Tensor& gradient(std::int32_t node) const { return slots_[node - first_].total; }

  bool wants(std::int32_t node) const override {
    if (node >= first_) return slots_[node - first_].reached;
    return outer_ != nullptr && node >= 0 && outer_->wants(node);
  }
  void add(std::int32_t node, const Tensor& gradient) override;
  void add(std::int32_t node, Tensor&& gradient) override;
  void add_part(std::int32_t node, Tensor gradient, std::shared_ptr<const Part> part) override;

 private:
  /// What a sweep knows about one node: whether it is an x or depends on one, and its gradient
  /// until the sweep reaches it. The gradient is a sum, plus parts that a recorded sweep has yet to
  /// add.
  struct Slot {
    Slot() {}  // not defaulted: a vector would zero every member first
    bool reached = false;
    bool kept = false;
    Tensor total;
    std::vector<std::pair<Tensor, std::shared_ptr<const Part>>> parts;
  };

  static Tensor assemble(const Shape& shape, const Slot& slot);
  template <class Given>
  void add_any(std::int32_t node, Given&& gradient);
  bool leads_on(const Node& node) const;
  void pull(Node& node, std::int32_t index, Tensor g);
  void keep_flow(std::int32_t to, const Tensor& added, const Tensor& total);
  void check_inputs(const Node& node, const Tensor& g) const;
  [[noreturn]] void refuse_undefined(std::int32_t input) const;

  Tape& tape_;
  std::int32_t first_;
  const GradOptions& options_;
  Sweep* outer_;
  std::vector<Slot> slots_;
  const int number_;
  std::int32_t pulled_ = -1;  // the node whose rules are running
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
