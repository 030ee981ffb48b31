#pragma once

// The common mechanism of operations that have kernels of their own.

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "tapegrad/core/tape.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/derivatives.h"
#include "tapegrad/ops/grad.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The tensors that an operation reads. A missing optional one is undefined.
template <std::size_t N>
using Operands = std::array<Tensor, N>;

/// The names of all fused operations. Tests compare each with its definition.
std::vector<std::string_view>& fused_operations();

namespace detail {

template <class Operation>
struct Entered {
  static inline const bool in_list = (fused_operations().push_back(Operation::name), true);
};

// Whether the gradients of an operation need its value.
template <class Operation, std::size_t N>
concept ReadsValue = requires(const Operation& operation, const Operands<N>& in, const Tensor& t,
                              const Wanted<N>& wanted) {
  operation.gradients(in, t, t, wanted);
};

// The gradients of f(operands), from a tape of f. Undefined for undefined operands.
template <std::size_t N, class F>
Gradients<N> gradients_of(const F& f, const Operands<N>& operands, const Tensor& g) {
  std::vector<Tensor> present;
  for (const Tensor& operand : operands)
    if (operand.defined()) present.push_back(operand);
  // Replaces the defined operands by others.
  const auto filled = [&](const std::vector<Tensor>& others) {
    Operands<N> result;
    auto next = others.begin();
    for (std::size_t i = 0; i < N; ++i)
      if (operands[i].defined()) result[i] = *next++;
    return result;
  };
  return filled(vjp([&](const std::vector<Tensor>& in) { return f(filled(in)); }, present, g));
}

template <class Operation, std::size_t N>
struct FusedRule {
  Operands<N> operands;
  Operation operation;

  Gradients<N> operator()(const Tensor& g, const Wanted<N>& wanted) const
      requires(!ReadsValue<Operation, N>) {
    return recording() ? of_definition(g) : operation.gradients(operands, g, wanted);
  }
  Gradients<N> operator()(const Tensor& g, const Tensor& value,
                          const Wanted<N>& wanted) const requires ReadsValue<Operation, N> {
    return recording() ? of_definition(g) : operation.gradients(operands, g, value, wanted);
  }

 private:
  Gradients<N> of_definition(const Tensor& g) const {
    return gradients_of([this](const Operands<N>& in) { return operation.definition(in); },
                        operands, g);
  }
};

}  // namespace detail

/// Computes and records an operation given as a struct with a name and three functions:
///
///     struct Gelu {
///       static constexpr const char* name = "gelu";
///       static Tensor definition(const Operands<1>& in);  // composed of other operations
///       static Tensor value(const Operands<1>& in);       // the same, by a kernel
///       static Gradients<1> gradients(const Operands<1>& in, const Tensor& g,
///                                     const Wanted<1>& wanted);  // likewise
///     };
///     return fused(Gelu{}, Operands<1>{x}, place);
///
/// Composite computes the definition instead, and a recorded sweep differentiates it, so second
/// derivatives need no kernel. `value` may store in the operation what `gradients` needs. A
/// `gradients(in, g, value, wanted)` also receives the value, which the tape then keeps. `node`
/// names the operation on the tape.
template <class Operation, std::size_t N>
Tensor fused(Operation operation, const Operands<N>& operands, const Place& place,
             const char* node = Operation::name) {
  (void)detail::Entered<Operation>::in_list;
  const PlaceScope caller(place);
  if (Composite::active()) return operation.definition(operands);
  Tensor value = operation.value(operands);
  std::array<const Tensor*, N> inputs;
  for (std::size_t i = 0; i < N; ++i) inputs[i] = &operands[i];
  return record(
      node, std::move(value), place,
      joint_edge<N>(inputs, detail::FusedRule<Operation, N>{operands, std::move(operation)}));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
