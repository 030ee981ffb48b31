#pragma once

#include "tapegrad/ops/kernels/row_transform.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

struct CellKernel;

/// A recurrent layer over a whole sequence, of a cell with G gates:
///   inputs (steps, batch, G hidden), weight (hidden, G hidden), h0 and c0 (batch, hidden).
struct Sequence {
  const CellKernel* cell;
  Index gates, gated_blocks;  ///< as in ops' Cell
  bool has_c;
  Index steps, batch, hidden;
  const real *inputs, *weight, *h0, *c0;
  const Index* lengths;  ///< of each sequence, or null: all have `steps`
  RowTransform input;    ///< of the inputs; never over_sum
  RowTransform product;
  RowTransform state;  ///< of c, on its way to h

  /// Whether nothing is done to the product before the inputs are added: it can start from them,
  /// and the two have the same gradient.
  bool starts_from_inputs() const {
    return gated_blocks == 0 && input.identity() && (product.over_sum || product.identity());
  }
};

/// What a sequence keeps for the way back, a row of a step after another; null where it has none.
struct Kept {
  real* gates;           ///< what CellKernel says: kept_blocks hidden a row
  real* cells;           ///< c before each step and after the last
  real* tanh_cells;      ///< tanh of the transformed c
  real* product;         ///< normalized products: G hidden a row
  real* product_scales;  ///< two numbers a segment
  real* state;           ///< normalized c: hidden a row
  real* state_scales;
};

/// h of each step, (steps, batch, hidden). Sequences of a batch do not touch each other: a task
/// takes some of them through all steps.
void recurrent_forward(const Sequence& sequence, const Kept& kept, real* h);

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
