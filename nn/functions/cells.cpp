#include "tapegrad/nn/functions/cells.h"

#include <fmt/format.h>

#include <algorithm>

#include "tapegrad/core/error.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/kernels/cells.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// x W_x + h W_h + b
Tensor sum_of(const Tensor& inputs, const Tensor& weight, const RecurrentState& state,
              const StepFunctions& functions, Index step) {
  const Tensor product = matmul(state.h, weight);
  return functions.over_sum ? functions.product(inputs + product, step)
                            : inputs + functions.product(product, step);
}

RecurrentState rnn_tanh_step(const Tensor& inputs, const Tensor& weight,
                             const RecurrentState& state, const StepFunctions& functions,
                             Index step) {
  return {tanh(sum_of(inputs, weight, state, functions, step)), {}};
}

RecurrentState rnn_relu_step(const Tensor& inputs, const Tensor& weight,
                             const RecurrentState& state, const StepFunctions& functions,
                             Index step) {
  return {relu(sum_of(inputs, weight, state, functions, step)), {}};
}

RecurrentState lstm_step(const Tensor& inputs, const Tensor& weight, const RecurrentState& state,
                         const StepFunctions& functions, Index step) {
  const Index hidden = weight.shape()[0];
  const Tensor sum = sum_of(inputs, weight, state, functions, step);
  const auto gates = split(sum, {hidden, hidden, hidden, hidden}, -1);
  const Tensor c = sigmoid(gates[1]) * state.c + sigmoid(gates[0]) * tanh(gates[2]);
  return {sigmoid(gates[3]) * tanh(functions.cell(c, step)), c};
}

RecurrentState gru_step(const Tensor& inputs, const Tensor& weight, const RecurrentState& state,
                        const StepFunctions& functions, Index step) {
  const Index hidden = weight.shape()[0];
  const Tensor product = matmul(state.h, weight);
  const auto x = split(inputs, {2 * hidden, hidden}, -1);
  const auto u = split(functions.product(product, step), {2 * hidden, hidden}, -1);
  const auto gates = split(sigmoid(x[0] + u[0]), {hidden, hidden}, -1);
  const Tensor candidate = tanh(x[1] + gates[0] * u[1]);
  return {candidate + gates[1] * (state.h - candidate), {}};
}

RecurrentState gru_reset_first_step(const Tensor& inputs, const Tensor& weight,
                                    const RecurrentState& state, const StepFunctions&, Index) {
  const Index hidden = weight.shape()[0];
  const auto x = split(inputs, {2 * hidden, hidden}, -1);
  const auto w = split(weight, {2 * hidden, hidden}, -1);
  const auto gates = split(sigmoid(x[0] + matmul(state.h, w[0])), {hidden, hidden}, -1);
  const Tensor candidate = tanh(x[1] + matmul(gates[0] * state.h, w[1]));
  return {candidate + gates[1] * (state.h - candidate), {}};
}

}  // namespace

// constinit, because tables in other files may copy them before main.
constinit const Cell Cell::rnn_tanh{.name = "rnn",
                                    .gates = 1,
                                    .norms = CellNorms::of_sum,
                                    .in_pytorch = true,
                                    .step = rnn_tanh_step,
                                    .kernel = &kernels::rnn_tanh_cell};
constinit const Cell Cell::rnn_relu{.name = "rnn_relu",
                                    .gates = 1,
                                    .norms = CellNorms::of_sum,
                                    .in_pytorch = true,
                                    .step = rnn_relu_step,
                                    .kernel = &kernels::rnn_relu_cell};
constinit const Cell Cell::lstm{.name = "lstm",
                                .gates = 4,
                                .has_c = true,
                                .norms = CellNorms::of_products,
                                .in_pytorch = true,
                                .step = lstm_step,
                                .kernel = &kernels::lstm_cell};
constinit const Cell Cell::gru{.name = "gru",
                               .gates = 3,
                               .gated_blocks = 1,
                               .norms = CellNorms::of_products,
                               .in_pytorch = true,
                               .step = gru_step,
                               .kernel = &kernels::gru_cell};
constinit const Cell Cell::gru_reset_first{
    .name = "gru_reset_first", .gates = 3, .step = gru_reset_first_step};

namespace {
constexpr const Cell* all_cells[]{&Cell::rnn_tanh, &Cell::rnn_relu, &Cell::lstm, &Cell::gru,
                                  &Cell::gru_reset_first};
}

const Cell& Cell::named(std::string_view name) {
  for (const Cell* cell : all_cells)
    if (cell->name == name) return *cell;
  fail<ArgumentError>("cell: unknown cell {}; available: {}", beginning(name),
                      fmt::format("{}", fmt::join(cell_names(), ", ")));
}

bool Cell::fused() const {
  const auto is_this = [this](const Cell* cell) { return *cell == *this; };
  return kernel != nullptr && std::any_of(std::begin(all_cells), std::end(all_cells), is_this);
}

std::vector<std::string> cell_names() {
  std::vector<std::string> names;
  for (const Cell* cell : all_cells) names.emplace_back(cell->name);
  return names;
}

RecurrentState detach(const RecurrentState& state) {
  return {detach(state.h), state.c.defined() ? detach(state.c) : Tensor()};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
