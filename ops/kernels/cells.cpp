#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/ops/kernels/cells.cpp"
#include <hwy/foreach_target.h>
// The order matters: Highway includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "tapegrad/core/machine/instruction_set.h"
#include "tapegrad/ops/kernels/cells.h"
#include "tapegrad/ops/kernels/elementwise.h"
#include "tapegrad/ops/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE {
namespace {

// The slopes of sigmoid and tanh, as functions of their values.
Vector sigmoid_slope(Vector y) { return hn::Mul(y, hn::Sub(constant(1), y)); }
Vector tanh_slope(Vector y) { return hn::NegMulAdd(y, y, constant(1)); }

void lstm_gates(Index hidden, const real* sums, const real* c_before, real* gates, real* c) {
  for_vectors(hidden, [=](const auto& at, Index j) HWY_ATTR {
    const Vector i = sigmoid_of(at.load(sums + j)), f = sigmoid_of(at.load(sums + hidden + j));
    const Vector g = tanh_of(at.load(sums + 2 * hidden + j));
    at.store(i, gates + j);
    at.store(f, gates + hidden + j);
    at.store(g, gates + 2 * hidden + j);
    at.store(sigmoid_of(at.load(sums + 3 * hidden + j)), gates + 3 * hidden + j);
    at.store(hn::MulAdd(f, at.load(c_before + j), hn::Mul(i, g)), c + j);
  });
}

void lstm_output(Index hidden, const real* gates, const real* state, real* tanh_state, real* h) {
  for_vectors(hidden, [=](const auto& at, Index j) HWY_ATTR {
    const Vector t = tanh_of(at.load(state + j));
    at.store(t, tanh_state + j);
    at.store(hn::Mul(at.load(gates + 3 * hidden + j), t), h + j);
  });
}

void lstm_output_back(Index hidden, const real* gates, const real* tanh_state, const real* dh,
                      real* d_sums, real* d_state) {
  for_vectors(hidden, [=](const auto& at, Index j) HWY_ATTR {
    const Vector o = at.load(gates + 3 * hidden + j), t = at.load(tanh_state + j);
    const Vector g = at.load(dh + j);
    at.store(hn::Mul(hn::Mul(g, t), sigmoid_slope(o)), d_sums + 3 * hidden + j);
    at.store(hn::Mul(hn::Mul(g, o), tanh_slope(t)), d_state + j);
  });
}

void lstm_gates_back(Index hidden, const real* gates, const real* c_before, const real* d_state,
                     real* dc, real* d_sums) {
  for_vectors(hidden, [=](const auto& at, Index j) HWY_ATTR {
    const Vector i = at.load(gates + j), f = at.load(gates + hidden + j);
    const Vector g = at.load(gates + 2 * hidden + j);
    const Vector d = hn::Add(at.load(dc + j), at.load(d_state + j));
    at.store(hn::Mul(hn::Mul(d, g), sigmoid_slope(i)), d_sums + j);
    at.store(hn::Mul(hn::Mul(d, at.load(c_before + j)), sigmoid_slope(f)), d_sums + hidden + j);
    at.store(hn::Mul(hn::Mul(d, i), tanh_slope(g)), d_sums + 2 * hidden + j);
    at.store(hn::Mul(d, f), dc + j);
  });
}

void gru(Index hidden, const real* inputs, const real* product, const real* h_before, real* gates,
         real* h) {
  for_vectors(hidden, [=](const auto& at, Index j) HWY_ATTR {
    const Index z_at = hidden + j, n_at = 2 * hidden + j;
    const Vector r = sigmoid_of(hn::Add(at.load(inputs + j), at.load(product + j)));
    const Vector z = sigmoid_of(hn::Add(at.load(inputs + z_at), at.load(product + z_at)));
    const Vector p = at.load(product + n_at);
    const Vector n = tanh_of(hn::MulAdd(r, p, at.load(inputs + n_at)));
    at.store(r, gates + j);
    at.store(z, gates + z_at);
    at.store(n, gates + n_at);
    at.store(p, gates + 3 * hidden + j);
    at.store(hn::MulAdd(z, hn::Sub(at.load(h_before + j), n), n), h + j);
  });
}

void gru_back(Index hidden, const real* gates, const real* h_before, real* dh, real* d_inputs,
              real* d_product) {
  for_vectors(hidden, [=](const auto& at, Index j) HWY_ATTR {
    const Index z_at = hidden + j, n_at = 2 * hidden + j;
    const Vector r = at.load(gates + j), z = at.load(gates + z_at), n = at.load(gates + n_at);
    const Vector g = at.load(dh + j);
    const Vector dn = hn::Mul(hn::Mul(g, hn::Sub(constant(1), z)), tanh_slope(n));
    const Vector dz = hn::Mul(hn::Mul(g, hn::Sub(at.load(h_before + j), n)), sigmoid_slope(z));
    const Vector dr = hn::Mul(hn::Mul(dn, at.load(gates + 3 * hidden + j)), sigmoid_slope(r));
    at.store(dr, d_inputs + j);
    at.store(dz, d_inputs + z_at);
    at.store(dn, d_inputs + n_at);
    at.store(dr, d_product + j);
    at.store(dz, d_product + z_at);
    at.store(hn::Mul(dn, r), d_product + n_at);
    at.store(hn::Mul(g, z), dh + j);
  });
}

void tanh_back(Index hidden, const real* h, const real* dh, real* d_sums) {
  for_vectors(hidden, [=](const auto& at, Index j) HWY_ATTR {
    at.store(hn::Mul(at.load(dh + j), tanh_slope(at.load(h + j))), d_sums + j);
  });
}

}  // namespace

const CellLoops* cells_here() {
  static constexpr CellLoops loops{.lstm_gates = lstm_gates,
                                   .lstm_output = lstm_output,
                                   .lstm_output_back = lstm_output_back,
                                   .lstm_gates_back = lstm_gates_back,
                                   .gru = gru,
                                   .gru_back = gru_back,
                                   .tanh_back = tanh_back};
  return &loops;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad::TAPEGRAD_SCALAR::kernels {
HWY_EXPORT(cells_here);
const CellLoops& cell_loops() {
  return detail::dispatched([] { return HWY_DYNAMIC_DISPATCH(cells_here)(); });
}

namespace {

// Computes the sum that the gates see from h W of the row.
void sum_forward(const Sequence& s, const Row& row, real* product) {
  const Index G = s.gates * s.hidden;
  transform_forward(s.product, product, G, row.product, row.product_scales);
  if (!s.starts_from_inputs()) elementwise().add({product, false}, {row.inputs, false}, product, G);
}

void tanh_forward(const Sequence& s, const Row& row, real* product) {
  sum_forward(s, row, product);
  elementwise().tanh(product, row.h, s.hidden);
}

void relu_forward(const Sequence& s, const Row& row, real* product) {
  sum_forward(s, row, product);
  elementwise().relu(product, row.h, s.hidden);
}

void lstm_forward(const Sequence& s, const Row& row, real* product) {
  sum_forward(s, row, product);
  cell_loops().lstm_gates(s.hidden, product, row.cell_before, row.gates, row.cell_after);
  std::copy_n(row.cell_after, s.hidden, row.tanh_cell);
  transform_forward(s.state, row.tanh_cell, s.hidden, row.state, row.state_scales);
  cell_loops().lstm_output(s.hidden, row.gates, row.tanh_cell, row.tanh_cell, row.h);
}

void gru_forward(const Sequence& s, const Row& row, real* product) {
  transform_forward(s.product, product, 3 * s.hidden, row.product, row.product_scales);
  cell_loops().gru(s.hidden, row.inputs, product, row.h_before, row.gates, row.h);
}

// Takes the gradient of the gates' sum in `out.inputs`. The gradient of h flows through the product
// only.
void sum_backward(const Sequence& s, const Row& row, const RowGradients& out) {
  const Index G = s.gates * s.hidden;
  if (out.product != out.inputs) std::copy_n(out.inputs, G, out.product);
  transform_backward(s.product, out.product, G, row.product, row.product_scales, out.product_total);
  std::fill_n(out.h, s.hidden, real{0});
}

void tanh_backward(const Sequence& s, const Row& row, const RowGradients& out) {
  cell_loops().tanh_back(s.hidden, row.h, out.h, out.inputs);
  sum_backward(s, row, out);
}

void relu_backward(const Sequence& s, const Row& row, const RowGradients& out) {
  elementwise().gate({out.h, false}, {row.h, false}, out.inputs, s.hidden);
  sum_backward(s, row, out);
}

void lstm_backward(const Sequence& s, const Row& row, const RowGradients& out) {
  const Index H = s.hidden;
  cell_loops().lstm_output_back(H, row.gates, row.tanh_cell, out.h, out.inputs, out.state);
  transform_backward(s.state, out.state, H, row.state, row.state_scales, out.state_total);
  cell_loops().lstm_gates_back(H, row.gates, row.cell_before, out.state, out.c, out.inputs);
  sum_backward(s, row, out);
}

void gru_backward(const Sequence& s, const Row& row, const RowGradients& out) {
  cell_loops().gru_back(s.hidden, row.gates, row.h_before, out.h, out.inputs, out.product);
  transform_backward(s.product, out.product, 3 * s.hidden, row.product, row.product_scales,
                     out.product_total);
}

}  // namespace

constinit const CellKernel rnn_tanh_cell{
    .kept_blocks = 0, .passes_h_by = false, .forward = tanh_forward, .backward = tanh_backward};
constinit const CellKernel rnn_relu_cell{
    .kept_blocks = 0, .passes_h_by = false, .forward = relu_forward, .backward = relu_backward};
constinit const CellKernel lstm_cell{
    .kept_blocks = 4, .passes_h_by = false, .forward = lstm_forward, .backward = lstm_backward};
constinit const CellKernel gru_cell{
    .kept_blocks = 4, .passes_h_by = true, .forward = gru_forward, .backward = gru_backward};

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
#endif
