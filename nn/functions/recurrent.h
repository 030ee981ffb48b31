#pragma once

#include <optional>

#include "tapegrad/core/indices.h"
#include "tapegrad/nn/functions/cells.h"
#include "tapegrad/ops/norm.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The transformation of each row within a step: normalize each of its parts, if at all, then apply
/// gain and bias. A row that is not normalized may have a bias.
/// Example: `RowNormalization{.statistics = NormOptions{}, .gain = ones({6})}(x)`
struct RowNormalization {
  std::optional<NormOptions> statistics = {};
  bool centered = true;           ///< otherwise over the root mean square
  std::vector<Index> parts = {};  ///< their lengths, such as 2 H and H of a GRU; empty: one part
  bool over_sum = false;          ///< of inputs + product rather than of the product
  Tensor gain = {}, bias = {};

  bool identity() const { return !statistics && !gain.defined() && !bias.defined(); }
  /// Whether kernels compute it.
  bool has_kernel() const { return !statistics || statistics->is_of_paper(); }
  /// x: (..., channels)   returns: same shape
  Tensor operator()(const Tensor& x) const;
};

/// Example: `const RecurrentNorms norms{.inputs = {.statistics = NormOptions{}}}`
struct RecurrentNorms {
  RowNormalization inputs = {};   ///< of the inputs (Ba et al. 2016, eq. 20); not with over_sum
  RowNormalization product = {};  ///< of h W_h; with over_sum, of the whole sum
  RowNormalization cell = {};     ///< of an LSTM's c before it enters h (Ba et al. 2016, eq. 22)

  bool have_kernels() const {
    return inputs.has_kernel() && product.has_kernel() && cell.has_kernel();
  }
};

/// h after each step, and the state after the last.
/// Example: `RecurrentResult result = recurrent(Cell::rnn_relu, steps, eye(6), {ones({2, 6}), {}})`
struct RecurrentResult {
  Tensor outputs;  ///< (T, B, hidden)
  RecurrentState last;
};

/// A recurrent layer over a whole sequence, as one fused operation. A task takes part of the batch
/// through all steps, and one product at the end computes the weight's gradient.
///   inputs: (T, B, G hidden), what does not depend on h: x W_x + b, or x W_x where norms.inputs
///   normalizes it and adds b   weight W_h: (hidden, G hidden)   first: h, and c of a cell that has
///   one, (B, hidden)   lengths: (B), in [0, T]; all T if undefined
/// A sequence that has ended keeps its state (h = m h_new + (1 - m) h_old), and the inputs behind
/// its end get gradient 0 whatever arrives.
/// Throws ShapeError for shapes that do not fit, ArgumentError for norms that the cell does not
/// support.
/// Example: `recurrent(Cell::rnn_tanh, steps, eye(6), {.h = zeros({2, 6}), .c = {}}).outputs`
RecurrentResult recurrent(const Cell& cell, const Tensor& inputs, const Tensor& weight,
                          const RecurrentState& first, const RecurrentNorms& norms = {},
                          const Indices& lengths = {}, Place = Place::here());

/// 1 where a sequence still runs, and 0 behind its end: (end - first, B, 1) for the steps from
/// `first` to before `end`. lengths: (B)
/// Example: `running(Indices({2}, {5, 3}), 0, 5)`
Tensor running(const Indices& lengths, Index first, Index end);
/// x, with 0 behind the end of each sequence, even where x is NaN; x itself without lengths.
///   x: (T, B, C)   lengths: (B)
/// Example: `without_padding(steps, Indices({2}, {5, 3}))`
Tensor without_padding(const Tensor& x, const Indices& lengths, Place place = Place::here());
/// Throws ShapeError, naming `operation`, unless there is one length for each of `batch` sequences,
/// in [0, steps].
/// Example: `expect_lengths("encode", Indices({2}, {5, 3}), 5, 2)`
void expect_lengths(const char* operation, const Indices& lengths, Index steps, Index batch);

namespace composite {
/// One step: the definition of every cell.
///   inputs: (B, G hidden)   weight: (hidden, G hidden)   returns the new state
RecurrentState recurrent_step(const Cell& cell, const Tensor& inputs, const Tensor& weight,
                              const RecurrentState& state, const StepFunctions& functions,
                              Index step = 0);
/// The definition of `recurrent`, step by step, with arbitrary functions in place of the norms.
RecurrentResult recurrent(const Cell& cell, const Tensor& inputs, const Tensor& weight,
                          const RecurrentState& first, const StepFunctions& functions,
                          const Indices& lengths = {});
}  // namespace composite

}  // namespace tapegrad::TAPEGRAD_SCALAR
