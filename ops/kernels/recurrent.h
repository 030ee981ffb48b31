#pragma once

#include <vector>

#include "tapegrad/ops/kernels/norm.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

enum class Cell { rnn_tanh, rnn_relu, lstm, gru };

/// How many blocks of `hidden` channels a cell's products have.
constexpr Index gates_of(Cell cell) { return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1; }

/// What is done to rows within a step: a normalization of each segment, then gain and bias.
struct RowTransform {
  bool normalized = false;
  RowNorm norm = {};            ///< its divisor is less the segment's length by `lost`
  Index lost = 0;               ///< 1 for an unbiased variance
  std::vector<Index> segments;  ///< lengths of the normalized parts of a row
  bool over_sum = false;        ///< to inputs + product, rather than to the product
  const real* gain = nullptr;
  const real* bias = nullptr;

  bool identity() const { return !normalized && gain == nullptr && bias == nullptr; }
};

/// A recurrent layer over a whole sequence. With G = gates_of(cell):
///   inputs (steps, batch, G hidden), weight (hidden, G hidden), h0 and c0 (batch, hidden).
struct Sequence {
  Cell cell;
  Index steps, batch, hidden;
  const real *inputs, *weight, *h0, *c0;
  const Index* lengths;  ///< of each sequence, or null: all have `steps`
  RowTransform input;    ///< of the inputs; never over_sum
  RowTransform product;
  RowTransform state;  ///< of an LSTM's c, on its way to h

  Index gates() const { return gates_of(cell); }
  /// Whether nothing is done to the product before the inputs are added: it can start from them,
  /// and the two have the same gradient.
  bool starts_from_inputs() const {
    return cell != Cell::gru && input.identity() && (product.over_sum || product.identity());
  }
};

/// What a sequence keeps for the way back, a row of a step after another; null where it has none.
struct Kept {
  real* gates;           ///< lstm: i, f, g, o; gru: r, z, n, product of n: 4 hidden a row
  real* cells;           ///< lstm: c before each step and after the last
  real* tanh_cells;      ///< lstm: tanh of the transformed c
  real* product;         ///< normalized products: G hidden a row
  real* product_scales;  ///< two numbers a segment
  real* state;           ///< normalized c: hidden a row
  real* state_scales;
};

/// h of each step, (steps, batch, hidden).
void recurrent_forward(const Sequence& sequence, const Kept& kept, real* h);

/// Gradients of one transform's gain and bias; null where there is none.
struct TransformGradients {
  real* gain;
  real* bias;
};
struct SequenceGradients {
  real* inputs;
  real* product;  ///< of the products before their transform; may be `inputs` where they are equal
  real *weight, *h0, *c0;
  TransformGradients input_transform, product_transform, state_transform;
};
/// Given the gradients of h and of the last c (or null).
void recurrent_backward(const Sequence& sequence, const Kept& kept, const real* h,
                        const real* h_gradient, const real* c_gradient,
                        const SequenceGradients& gradients);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
