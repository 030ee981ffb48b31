#pragma once

#include <functional>
#include <string_view>

#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

namespace kernels {
struct CellKernel;
}

/// The state of a recurrent layer: h, and c of a cell that has one, each (batch, hidden).
struct RecurrentState {
  Tensor h, c;
};
/// Without the history: what a truncated back-propagation carries to the next tape.
RecurrentState detach(const RecurrentState& state);

/// What is done to the rows of a step on their way: to the product h W_h, and to c on its way to h.
using StepFunction = std::function<Tensor(const Tensor& rows, Index step)>;
struct StepFunctions {
  StepFunction product, cell;
  bool over_sum = false;  ///< `product` is of inputs + product
};

/// One step of a cell, in operations.
///   inputs: (B, G hidden)   weight: (hidden, G hidden)   returns the new state
using CellStep = RecurrentState (*)(const Tensor& inputs, const Tensor& weight,
                                    const RecurrentState& state, const StepFunctions& functions,
                                    Index step);

/// What a normalized cell normalizes (Ba et al. 2016, eq. 4, 20-22 and 26-28).
enum class CellNorms {
  none,         ///< it takes no normalization
  of_sum,       ///< inputs + product, once
  of_products,  ///< the inputs and the product, each on its own; and c on its way to h
};

/// A recurrent cell: all that layers and kernels know of it. With G blocks of `hidden` channels,
/// [blocks] = x W_x + h W_h + b, split along the last axis:
///   rnn_tanh, rnn_relu   h' = f(a)
///   lstm                 [i, f, g, o]   c' = s(f) c + s(i) tanh(g)    h' = s(o) tanh(c')
///   gru                  [r, z, n]      n' = tanh(x W_n + s(r) (h U_n))    h' = (1 - s(z)) n' +
///   s(z) h
/// in PyTorch's order of the blocks (Ba et al. 2016, eq. 17-19 and 23-25 with z for 1 - z).
///   gru_reset_first: n' = tanh(x W_n + (s(r) h) U_n), the reset gate on the state (Cho et al.
///   2014).
///     Takes two products a step, one after the other, and is not fused.
/// One of your own needs a step in operations; a kernel only makes it faster.
struct Cell {
  std::string_view name;  ///< in messages
  Index gates = 1;        ///< G
  /// The last blocks of the product that a gate multiplies before the inputs are added. They are
  /// normalized apart from the others, and have a bias within the product.
  Index gated_blocks = 0;
  bool has_c = false;  ///< beside h
  CellNorms norms = CellNorms::none;
  bool in_pytorch = false;  ///< with the same blocks
  CellStep step = nullptr;
  const kernels::CellKernel* kernel = nullptr;  ///< null: not fused

  static const Cell rnn_tanh, rnn_relu, lstm, gru, gru_reset_first;

  bool operator==(const Cell&) const = default;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
