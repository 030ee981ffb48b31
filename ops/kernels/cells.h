#pragma once

#include "tapegrad/ops/kernels/recurrent.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// Where the numbers of one row of one step are stored, in Sequence and Kept.
struct Row {
  const real *inputs, *h_before;
  real* h;
  real *gates, *cell_before, *cell_after, *tanh_cell;
  real *product, *product_scales, *state, *state_scales;
};

/// Gradients at one row. h and c hold the gradients of this step's state, which the gradients of
/// the state before replace, except for the part that flows through the product. inputs and product
/// are written.
struct RowGradients {
  real *h, *c, *inputs, *product;
  TransformGradients product_total, state_total;
  real* state;  ///< scratch space for `hidden` numbers
};

/// A cell as a kernel: what one row of one step does.
struct CellKernel {
  Index kept_blocks;  ///< blocks of `hidden` numbers per row in `gates`, kept for the backward pass
  bool passes_h_by;   ///< whether h also reaches the next h other than through the product
  /// product: h W of the row, changed in place; or inputs + h W if the sequence starts from the
  /// inputs
  void (*forward)(const Sequence& sequence, const Row& row, real* product);
  void (*backward)(const Sequence& sequence, const Row& row, const RowGradients& gradients);
};
extern const CellKernel rnn_tanh_cell, rnn_relu_cell, lstm_cell, gru_cell;

/// Loops over one row of one step, `hidden` channels wide. Gates are stored one after another in
/// the order of ops' Cell: lstm i, f, g, o; gru r, z, n and the product of n.
struct CellLoops {
  /// gates from their sums (4 hidden); c = f c_before + i g
  void (*lstm_gates)(Index hidden, const real* sums, const real* c_before, real* gates, real* c);
  /// tanh_state = tanh(state), h = o tanh_state
  void (*lstm_output)(Index hidden, const real* gates, const real* state, real* tanh_state,
                      real* h);
  /// The gradients of the state and of o's sum (the last part of d_sums), given dh.
  void (*lstm_output_back)(Index hidden, const real* gates, const real* tanh_state, const real* dh,
                           real* d_sums, real* d_state);
  /// The gradients of the sums of i, f and g. dc holds the gradient of c, which the gradient of
  /// c_before replaces.
  void (*lstm_gates_back)(Index hidden, const real* gates, const real* c_before,
                          const real* d_state, real* dc, real* d_sums);
  /// inputs and product: 3 hidden each
  void (*gru)(Index hidden, const real* inputs, const real* product, const real* h_before,
              real* gates, real* h);
  /// dh holds the gradient of h, which the gradient of h_before replaces, except for the part
  /// through the product.
  void (*gru_back)(Index hidden, const real* gates, const real* h_before, real* dh, real* d_inputs,
                   real* d_product);
  /// The gradient of h = tanh(sums)
  void (*tanh_back)(Index hidden, const real* h, const real* dh, real* d_sums);
};
const CellLoops& cell_loops();

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
