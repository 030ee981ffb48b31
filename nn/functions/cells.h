#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

namespace kernels {
struct CellKernel;
}

/// The state of a recurrent layer: h, and c if the cell has one, each (batch, hidden).
/// Example: `const RecurrentState state = Recurrent(Cell::lstm, 6, 8, random)(steps).last[0]`
struct RecurrentState {
  Tensor h, c;
};
/// The state without its history, which truncated back-propagation carries to the next tape.
RecurrentState detach(const RecurrentState& state);

/// Functions applied to the rows within a step: to the product h W_h, and to c before it enters h.
/// Example: `const StepFunction limited = [](const Tensor& rows, Index) { return tanh(rows); }`
using StepFunction = std::function<Tensor(const Tensor& rows, Index step)>;
/// Example: `StepFunctions functions{[](auto& rows, Index) { return layer_norm(rows); }, {}}`
struct StepFunctions {
  StepFunction product, cell;
  bool over_sum = false;  ///< `product` applies to inputs + product
};

/// One step of a cell, composed of operations.
///   inputs: (B, G hidden)   weight: (hidden, G hidden)   returns the new state
/// Example: `const CellStep step = Cell::gru.step`
using CellStep = RecurrentState (*)(const Tensor& inputs, const Tensor& weight,
                                    const RecurrentState& state, const StepFunctions& functions,
                                    Index step);

/// What a normalized cell normalizes (Ba et al. 2016, eq. 4, 20-22 and 26-28).
/// Example: `if (Cell::lstm.norms == CellNorms::of_products) fmt::print("as in the paper\n")`
enum class CellNorms {
  none,         ///< it supports no normalization
  of_sum,       ///< the sum inputs + product
  of_products,  ///< the inputs and the product separately, and c before it enters h
};

/// A recurrent cell: everything that layers and kernels know about it. With G blocks of `hidden`
/// channels, [blocks] = x W_x + h W_h + b, split along the last axis:
///   rnn_tanh, rnn_relu   h' = f(a)   the name of the first is rnn
///   lstm                 [i, f, g, o]   c' = s(f) c + s(i) tanh(g)    h' = s(o) tanh(c')
///   gru                  [r, z, n]      n' = tanh(x W_n + s(r) (h U_n))
///                                       h' = (1 - s(z)) n' + s(z) h
///   gru_reset_first      [r, z, n]      n' = tanh(x W_n + (s(r) h) U_n), h' as gru
/// The blocks are in PyTorch's order (Ba et al. 2016, eq. 17-19 and 23-25 with z for 1 - z).
/// gru_reset_first applies the reset gate to the state (Cho et al. 2014). It takes two products per
/// step, one after the other, and is not fused. A cell of your own needs only a step.
/// Example: `Recurrent(Cell::gru, 6, 8, random)(steps)`
struct Cell {
  std::string_view name;  ///< for `named` and messages
  Index gates = 1;        ///< G
  /// The number of last blocks of the product that a gate multiplies before the inputs are added.
  /// They are normalized separately, and their product has a bias of its own.
  Index gated_blocks = 0;
  bool has_c = false;  ///< besides h
  CellNorms norms = CellNorms::none;
  bool in_pytorch = false;  ///< PyTorch has it, with the same blocks
  CellStep step = nullptr;
  const kernels::CellKernel* kernel = nullptr;  ///< of a cell below, which a changed copy ignores

  static const Cell rnn_tanh, rnn_relu, lstm, gru, gru_reset_first;
  /// One of these. Throws ArgumentError, which lists their names, for another name.
  /// Example: `Recurrent(Cell::named("gru_reset_first"), 6, 8, random)(steps)`
  static const Cell& named(std::string_view name);

  bool operator==(const Cell&) const = default;
  /// Whether its kernel computes it.
  bool fused() const;
};
/// The names of the library's cells.
/// Example: `for (const std::string& name : cell_names()) fmt::print("{}\n", name)`
std::vector<std::string> cell_names();

}  // namespace tapegrad::TAPEGRAD_SCALAR
