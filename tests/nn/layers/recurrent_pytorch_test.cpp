#include <catch2/catch.hpp>
#include <span>

#include "support/golden.h"
#include "support/scratch.h"
#include "tapegrad/io/safetensors.h"
#include "tapegrad/nn/layers/recurrent.h"
#include "tapegrad/nn/pytorch.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/layout.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

Tensor flat(const Tensor& x) { return reshape(x, {-1}); }

// Outputs and last states in one vector, in PyTorch's order.
Tensor everything(const Recurrent::Result& result) {
  std::vector<Tensor> parts{flat(result.outputs)};
  for (const RecurrentState& state : result.last) parts.push_back(flat(state.h));
  for (const RecurrentState& state : result.last)
    if (state.c.defined()) parts.push_back(flat(state.c));
  return concat(parts);
}

struct GoldenRow {
  const char* name;
  Cell cell;
  RecurrentOptions options;
  Indices lengths;
};

// The first states of PyTorch, (layers directions, B, H) each, as ours.
std::vector<RecurrentState> states_of(const Recurrent& net, const std::vector<Tensor>& first) {
  std::vector<RecurrentState> states;
  for (std::size_t i = 0; i < net.layers.size(); ++i)
    states.push_back({select(first[0], static_cast<Index>(i)),
                      first.size() > 1 ? select(first[1], static_cast<Index>(i)) : Tensor()});
  return states;
}

// PyTorch's tensors of a net, by way of a file.
std::map<std::string, Tensor> to_pytorch(const Recurrent& net) {
  const Scratch folder;
  save_pytorch(folder / "weights", net);
  return load_tensors(folder / "weights").tensors;
}

void from_pytorch(const Recurrent& net, const std::map<std::string, Tensor>& weights) {
  const Scratch folder;
  save_tensors(folder / "weights", {.tensors = weights});
  load_pytorch(net, folder / "weights");
}

std::vector<Parameter> weights_of(const Recurrent& net) {
  std::vector<Parameter> weights;
  for (const RecurrentLayer& layer : net.layers) {
    weights.insert(weights.end(), {layer.input.weight, layer.weight, layer.input.bias});
    if (layer.cell == Cell::gru) weights.push_back(layer.candidate_bias);
  }
  return weights;
}

// PyTorch has a second bias, bias_hh. Ours has only its part for the candidate of a GRU.
void check_gradients(const std::map<std::string, Tensor>& gradients, bool gru,
                     std::span<const Tensor> expected) {
  std::size_t at = 0;
  for (const auto& [name, gradient] : gradients) {
    INFO(name);
    if (name.starts_with("bias_hh") && gru) {
      const Tensor gates = slice(gradient, 0, 6, 9);
      CHECK(relative_error(gates, slice(expected[at], 0, 6, 9)) < golden_tolerance);
    } else if (!name.starts_with("bias_hh")) {
      CHECK(relative_error(gradient, expected[at]) < golden_tolerance);
    }
    ++at;
  }
}

void check_pytorch(const GoldenRow& row) {
  const Golden expected = golden("recurrent.json", row.name);
  Random random(1);
  const Recurrent net(row.cell, 2, 3, random, row.options);
  const std::size_t inputs = row.cell == Cell::lstm ? 3 : 2;
  std::map<std::string, Tensor> weights = to_pytorch(net);
  std::size_t at = inputs;
  for (auto& [name, weight] : weights) weight = expected.inputs[at++];
  from_pytorch(net, weights);

  const Tape tape;
  std::vector<Tensor> leaves;
  for (std::size_t i = 0; i < inputs; ++i) leaves.push_back(watch(expected.inputs[i]));
  const std::vector<Tensor> first(leaves.begin() + 1, leaves.end());
  const Tensor value = everything(net(leaves[0], states_of(net, first), row.lengths));
  CHECK(relative_error(value, expected.value) < golden_tolerance);

  for (const Parameter& weight : weights_of(net)) leaves.push_back(weight);
  const std::vector<Tensor> gradients = grad(value, leaves, {.seed = expected.seed});
  for (std::size_t i = 0; i < inputs; ++i)
    CHECK(relative_error(gradients[i], expected.gradients[i]) < golden_tolerance);

  // The other gradients as the weights of a net, which brings them into PyTorch's layout.
  const Recurrent back(row.cell, 2, 3, random, row.options);
  at = inputs;
  for (Parameter& weight : weights_of(back)) weight.set(gradients[at++]);
  check_gradients(to_pytorch(back), row.cell == Cell::gru,
                  std::span(expected.gradients).subspan(inputs));
}

}  // namespace

TEST_CASE("recurrent layers agree with PyTorch", "[recurrent]") {
  const Indices lengths({3}, {2, 4, 1}), other({3}, {3, 1, 4});
  const RecurrentOptions two{.layers = 2}, both_ways{.layers = 2, .bidirectional = true};
  const GoldenRow rows[] = {
      {"rnn_tanh", Cell::rnn_tanh, {}, {}},
      {"rnn_relu", Cell::rnn_relu, {}, {}},
      {"gru", Cell::gru, {}, {}},
      {"lstm", Cell::lstm, {}, {}},
      {"lstm_2_layers", Cell::lstm, two, {}},
      {"gru_2_layers_bidirectional", Cell::gru, both_ways, {}},
      {"lstm_lengths", Cell::lstm, {}, lengths},
      {"lstm_2_layers_bidirectional_lengths", Cell::lstm, both_ways, other},
  };
  for (const GoldenRow& row : rows) {
    DYNAMIC_SECTION(row.name) {
      check_pytorch(row);
      const Composite readable;
      check_pytorch(row);
    }
  }
}

TEST_CASE("recurrent layers that PyTorch does not have are refused", "[recurrent]") {
  Random random(1);
  CHECK_THROWS_WITH(to_pytorch(Recurrent(Cell::lstm, 2, 3, random, {.norm = "layer"})),
                    Contains("no counterpart of a normalized recurrent layer"));
  CHECK_THROWS_WITH(to_pytorch(Recurrent(Cell::gru_reset_first, 2, 3, random)),
                    Contains("gru_reset_first"));
  CHECK_THROWS_WITH(to_pytorch(Recurrent(Cell::gru, 2, 3, random, {.learned_state = true})),
                    Contains("learned first state"));
}
