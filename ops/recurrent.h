#pragma once

#include <functional>
#include <optional>

#include "tapegrad/core/indices.h"
#include "tapegrad/ops/norm.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The recurrent cells. With [blocks] = x W_x + h W_h + b, split along the last axis:
///   rnn_tanh, rnn_relu   h' = f(a)
///   lstm                 [i, f, g, o]   c' = s(f) c + s(i) tanh(g)    h' = s(o) tanh(c')
///   gru                  [r, z, n]      n' = tanh(x W_n + s(r) (h U_n))    h' = (1 - s(z)) n' +
///   s(z) h
/// in PyTorch's order of the blocks (Ba et al. 2016, eq. 17-19 and 23-25 with z for 1 - z).
///   gru_reset_first: n' = tanh(x W_n + (s(r) h) U_n), the reset gate on the state (Cho et al.
///   2014).
///     Takes two products a step, one after the other, and is not fused.
enum class Cell { rnn_tanh, rnn_relu, lstm, gru, gru_reset_first };

/// How many blocks of `hidden` channels a cell has: 1, 4 or 3.
Index gates_of(Cell cell);

/// The state of a recurrent layer: h, and c of an LSTM, each (batch, hidden).
struct RecurrentState {
  Tensor h, c;
};
/// Without the history: what a truncated back-propagation carries to the next tape.
RecurrentState detach(const RecurrentState& state);

/// What is done to each row within a step: nothing, or a normalization of each of `parts` equal
/// segments, and then gain and bias. Of the statistics one may not be normalized but have a bias.
struct RowNormalization {
  std::optional<NormOptions> statistics = {};
  bool centred = true;            ///< otherwise over the root mean square
  std::vector<Index> parts = {};  ///< lengths of the segments; one segment if empty
  bool over_sum = false;          ///< of inputs + product rather than of the product
  Tensor gain = {}, bias = {};

  bool identity() const { return !statistics && !gain.defined() && !bias.defined(); }
  /// x: (..., channels)   returns: same shape
  Tensor operator()(const Tensor& x) const;
};

struct RecurrentNorms {
  RowNormalization inputs = {};   ///< of the inputs (Ba et al. 2016, eq. 20); not with over_sum
  RowNormalization product = {};  ///< of h W_h; of a plain RNN and with over_sum, of the whole sum
  RowNormalization cell = {};     ///< of an LSTM's c, on its way to h (Ba et al. 2016, eq. 22)
};

/// h after each step, and the state after the last.
struct RecurrentResult {
  Tensor outputs;  ///< (T, B, hidden)
  RecurrentState last;
};

/// A recurrent layer over a whole sequence, as one fused operation: a task takes part of the batch
/// through all steps, and the weight's gradient is one product at the end.
///   inputs: (T, B, G hidden), what does not depend on h: x W_x + b, or x W_x where norms.inputs
///   normalizes it and adds b   weight W_h: (hidden, G hidden)   first: h and c (lstm) of (B,
///   hidden)   lengths: (B), in [0, T]; all T if undefined
/// A sequence that is over carries its state (h = m h_new + (1 - m) h_old).
/// Throws ShapeError for shapes that do not fit, and for norms that the cell does not take.
RecurrentResult recurrent(Cell cell, const Tensor& inputs, const Tensor& weight,
                          const RecurrentState& first, const RecurrentNorms& norms = {},
                          const Indices& lengths = {}, Place = Place::here());

/// Throws ShapeError, naming `operation`, unless there is one length for each of `batch` sequences,
/// in [0, steps].
void expect_lengths(const char* operation, const Indices& lengths, Index steps, Index batch);

/// A function of the rows of one step.
using StepFunction = std::function<Tensor(const Tensor& rows, Index step)>;
struct StepFunctions {
  StepFunction product, cell;
  bool over_sum = false;
};

namespace composite {
/// One step: the definition of every cell.
///   inputs: (B, G hidden)   weight: (hidden, G hidden)   returns the new state
RecurrentState recurrent_step(Cell cell, const Tensor& inputs, const Tensor& weight,
                              const RecurrentState& state, const StepFunctions& functions,
                              Index step = 0);
/// The definition of `recurrent`, step by step, with any functions in the places of the norms.
RecurrentResult recurrent(Cell cell, const Tensor& inputs, const Tensor& weight,
                          const RecurrentState& first, const StepFunctions& functions,
                          const Indices& lengths = {});
}  // namespace composite

}  // namespace tapegrad::TAPEGRAD_SCALAR
