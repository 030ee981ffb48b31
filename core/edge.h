#pragma once

#include <array>
#include <memory>
#include <utility>

#include "tapegrad/core/internal/rule.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// An input of an operation and the rule by which gradient flows to it: `rule(g)` or `rule(g, y)`
/// returns the gradient of the input, given that of the output, and the output itself. An edge
/// refers to both: it is made in the call of `record` and goes with it.
template <class F>
struct Edge {
  const Tensor& input;
  F&& rule;
};
template <class F>
Edge<F> edge(const Tensor& input, F&& rule) {
  return {input, std::forward<F>(rule)};
}

/// An input whose gradient is that of the output.
struct PassingEdge {
  const Tensor& input;
};
inline PassingEdge edge(const Tensor& input) { return {input}; }

/// Several inputs whose gradients are computed together: `rule(g, wanted)` or `rule(g, y, wanted)`
/// returns one tensor for each input; those that are not wanted may be undefined.
template <int N, class F>
struct JointEdge {
  std::array<const Tensor*, N> inputs;
  F&& rule;
};
template <int N>
using Wanted = std::array<bool, N>;
template <int N>
using Gradients = std::array<Tensor, N>;
template <int N, class F>
JointEdge<N, F> joint_edge(std::array<const Tensor*, N> inputs, F&& rule) {
  return {inputs, std::forward<F>(rule)};
}

/// An input of which the output is a part: its gradient is the output's, at the part's position.
struct PartEdge {
  const Tensor& input;
  std::shared_ptr<const Part> part;
};
inline PartEdge part_edge(const Tensor& input, std::shared_ptr<const Part> part) {
  return {input, std::move(part)};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
