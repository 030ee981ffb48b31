#pragma once

#include "tapegrad/ops/kernels/recurrent.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// Where one row of one step keeps its numbers: those of Sequence and Kept.
struct Row {
  const real *inputs, *h_before;
  real* h;
  real *gates, *cell_before, *cell_after, *tanh_cell;
  real *product, *product_scales, *state, *state_scales;
};

/// Gradients at one row: h and c arrive, and leave as those of the step before without what flows
/// through the product; inputs and product are written.
struct RowGradients {
  real *h, *c, *inputs, *product;
  TransformGradients product_total, state_total;
  real* state;  ///< room for `hidden` numbers
};

/// A cell as a kernel: what one row of one step does.
struct CellKernel {
  Index kept_blocks;  ///< of `hidden` numbers a row, in `gates`, for the way back
  bool passes_h_by;   ///< whether h reaches the next h by another way than the product, too
  /// product: h W of the row, changed on the way; or inputs + h W if the sequence starts from them
  void (*forward)(const Sequence& sequence, const Row& row, real* product);
  void (*backward)(const Sequence& sequence, const Row& row, const RowGradients& gradients);
};
extern const CellKernel rnn_tanh_cell, rnn_relu_cell, lstm_cell, gru_cell;

/// Loops over one row of one step, `hidden` channels wide. Gates stand one after another as in ops'
/// Cell: lstm i, f, g, o; gru r, z, n and the product of n.
struct CellLoops {
  /// gates from their sums (4 hidden); c = f c_before + i g
  void (*lstm_gates)(Index hidden, const real* sums, const real* c_before, real* gates, real* c);
  /// tanh_state = tanh(state), h = o tanh_state
  void (*lstm_output)(Index hidden, const real* gates, const real* state, real* tanh_state,
                      real* h);
  /// The gradients of the sum of o, the last part of d_sums, and of the state, given that of h.
  void (*lstm_output_back)(Index hidden, const real* gates, const real* tanh_state, const real* dh,
                           real* d_sums, real* d_state);
  /// The gradients of the sums of i, f and g; that of c arrives and leaves as that of c_before.
  void (*lstm_gates_back)(Index hidden, const real* gates, const real* c_before,
                          const real* d_state, real* dc, real* d_sums);
  /// inputs and product: 3 hidden each
  void (*gru)(Index hidden, const real* inputs, const real* product, const real* h_before,
              real* gates, real* h);
  /// That of h arrives and leaves as that of h_before, without what flows through the product.
  void (*gru_back)(Index hidden, const real* gates, const real* h_before, real* dh, real* d_inputs,
                   real* d_product);
  /// Of h = tanh(sums)
  void (*tanh_back)(Index hidden, const real* h, const real* dh, real* d_sums);
};
const CellLoops& cell_loops();

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
