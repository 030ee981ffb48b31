#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// The loops of recurrent cells over one row of one step, `hidden` channels wide. Gates stand one
/// after another as in recurrent.h: lstm i, f, g, o; gru r, z, n and the product of n.
struct Cells {
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
const Cells& cells();

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
