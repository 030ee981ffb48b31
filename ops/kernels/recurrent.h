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
  RowTransform state;  ///< of c before it enters h

  /// Whether the product is used unchanged until the inputs are added. It can then start from the
  /// inputs, and both have the same gradient.
  bool starts_from_inputs() const {
    return gated_blocks == 0 && input.identity() && (product.over_sum || product.identity());
  }
};

/// What a sequence keeps for the backward pass, row by row of each step; null where it has none.
struct Kept {
  real* gates;           ///< as CellKernel defines them: kept_blocks hidden per row
  real* cells;           ///< c before each step and after the last
  real* tanh_cells;      ///< tanh of the transformed c
  real* product;         ///< normalized products: G hidden per row
  real* product_scales;  ///< two numbers per segment
  real* state;           ///< normalized c: hidden per row
  real* state_scales;
};

/// h of each step, (steps, batch, hidden). The sequences of a batch are independent, so a task
/// takes some of them through all steps. If there are threads for twice as many tasks, these divide
/// each step instead: its product by columns and rows, then its rows. The backward pass does, too.
void recurrent_forward(const Sequence& sequence, const Kept& kept, real* h);

struct SequenceGradients {
  real* inputs;
  real* product;  ///< of the products before their transform; may be `inputs` where they are equal
  real *weight, *h0, *c0;
  TransformGradients input_transform, product_transform, state_transform;
};
/// Computes `gradients`, given the gradients of h and of the last c (or null).
void recurrent_backward(const Sequence& sequence, const Kept& kept, const real* h,
                        const real* h_gradient, const real* c_gradient,
                        const SequenceGradients& gradients);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
