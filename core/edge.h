#pragma once

#include <array>
#include <memory>
#include <utility>

#include "tapegrad/core/internal/rule.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// An input of an operation, and the rule that computes its gradient. `rule(g)` or `rule(g, y)`
/// receives the gradient of the output, and optionally the output itself. An edge only refers to
/// its input and rule, so create it inside the call of `record`.
/// Example: `auto rule = [](auto& g) { return g; }; record("same", detach(x), {}, edge(x, rule))`
template <class F>
struct Edge {
  const Tensor& input;
  F&& rule;
};
/// Example: `record("triple", 3 * detach(x), {}, edge(x, [](const Tensor& g) { return 3 * g; }))`
template <class F>
Edge<F> edge(const Tensor& input, F&& rule) {
  return {input, std::forward<F>(rule)};
}

/// An input whose gradient equals the output's.
/// Example: `record("copy", detach(x), Place::here(), edge(x))`
struct PassingEdge {
  const Tensor& input;
};
inline PassingEdge edge(const Tensor& input) { return {input}; }

/// Several inputs whose gradients are computed together. `rule(g, wanted)` or `rule(g, y, wanted)`
/// returns one tensor for each input; unwanted ones may be undefined.
/// Example: `joint_edge<2>({&x, &y}, [](auto& g, auto) { return Gradients<2>{g, g}; })`
template <int N, class F>
struct JointEdge {
  std::array<const Tensor*, N> inputs;
  F&& rule;
};
/// Example: `Wanted<2> wanted{true, false}`
template <int N>
using Wanted = std::array<bool, N>;
/// Example: `Gradients<2> gradients{ones({4, 6}), Tensor()}`
template <int N>
using Gradients = std::array<Tensor, N>;
/// Example: `joint_edge<2>({&x, &y}, [](auto& g, auto) { return Gradients<2>{g, g}; })`
template <int N, class F>
JointEdge<N, F> joint_edge(std::array<const Tensor*, N> inputs, F&& rule) {
  return {inputs, std::forward<F>(rule)};
}

/// An input that the output is a part of. The output's gradient is added at the part's position.
/// Example: `part_edge(x, std::shared_ptr<const Part>()).input`
struct PartEdge {
  const Tensor& input;
  std::shared_ptr<const Part> part;
};
/// Example: `part_edge(x, std::shared_ptr<const Part>())`
inline PartEdge part_edge(const Tensor& input, std::shared_ptr<const Part> part) {
  return {input, std::move(part)};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
