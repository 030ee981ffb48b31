#include "tapegrad/nn/layers/recurrent.h"

#include <catch2/catch.hpp>
#include <limits>
#include <optional>

#include "support/golden.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/range.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/derivatives.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

constexpr double recurrent_precision = sizeof(real) == 8 ? 1e-9 : 1e-3;

const std::vector<Cell> cells_with_norms = [] {
  std::vector<Cell> cells;
  for (const std::string& name : cell_names())
    if (Cell::named(name).norms != CellNorms::none) cells.push_back(Cell::named(name));
  return cells;
}();

}  // namespace

TEST_CASE("every norm at its places of every cell, fused as composite", "[recurrent][norm]") {
  Random random(3);
  const Tensor x = random.normal({3, 4, 3});
  for (const Cell& cell : cells_with_norms)
    for (const char* norm : {"none", "layer", "layer_simple", "detach", "detach_mean",
                             "detach_variance", "rms", "layer:unbiased=1,place=out", "weight",
                             "layer:weight=1", "ada", "group", "divisive", "batch"}) {
      DYNAMIC_SECTION(cell.name << " " << norm) {
        const RecurrentLayer layer(cell, 3, 6, random, {.norm = norm});
        std::vector<Tensor> inputs{x};
        const auto run = [&](bool readable) {
          std::optional<Composite> composite;
          if (readable) composite.emplace();
          const Tape tape;
          Random mask(1);
          const RecurrentResult result = layer(x, {}, Indices({4}, {3, 1, 3, 3}), training(mask));
          std::vector<Tensor> found = grad(sum(square(result.outputs)), parameters(layer));
          found.push_back(result.outputs);
          return found;
        };
        const std::vector<Tensor> fused = run(false), composite = run(true);
        for (std::size_t i = 0; i < fused.size(); ++i) {
          const double size = std::max(1e-2, double{tapegrad::norm(composite[i]).item()});
          CHECK(tapegrad::norm(fused[i] - composite[i]).item() / size < recurrent_precision);
        }
      }
    }
}

namespace {

// The norm of a place, or nothing where there is none.
Tensor normed(const Tensor& a, const PartNorms& norms, std::size_t part = 0) {
  return norms.parts.empty() ? a : norms.parts[part](a);
}
Tensor normed(const Tensor& a, const std::optional<Norm>& norm) { return norm ? (*norm)(a) : a; }

Tensor weight_of(const Parameter& weight, const Parameter& gain) {
  return gain.defined() ? weight_norm(weight, gain, 0) : Tensor(weight);
}

// Two blocks' parts of the product of a layer.
std::vector<Tensor> parts_of(const Tensor& product, Index hidden) {
  return split(product, {2 * hidden, hidden}, -1);
}

}  // namespace

// norm_test.cpp checks what each norm does to rows; this test checks which rows it is given.
TEST_CASE("every norm stands where the papers put it", "[recurrent][norm]") {
  Random random(4);
  const Index H = 6;
  const Tensor x = random.normal({3, 4}), h = random.normal({3, H}), c = random.normal({3, H});
  const auto randomize = [&](const auto& layer) {
    for (Parameter each : parameters(layer)) each.set(random.normal(each.shape()));
  };
  for (const std::string& name : norm_names()) {
    const NormSpec spec(name);
    const NormMethod& method = *spec.method;
    const bool lacks_statistics = method.mixes_samples && method.steps() == 0;
    if (method.needs_positions || lacks_statistics) continue;  // refused: see below
    DYNAMIC_SECTION(name << " RNN: of the sum, Ba et al. eq. 4") {
      const RecurrentLayer layer(Cell::rnn_tanh, 4, H, random, {.norm = name});
      randomize(layer);
      const Tensor a = matmul(x, weight_of(layer.input.weight, layer.input.gain)) +
                       layer.input.bias + matmul(h, weight_of(layer.weight, layer.weight_gain));
      CHECK(relative_error(layer.step(x, {h, {}}).h, tanh(normed(a, layer.product_norm))) <
            recurrent_precision);
    }
    for (const CellNormPlacement placement :
         {CellNormPlacement::paper, CellNormPlacement::cell, CellNormPlacement::sum,
          CellNormPlacement::per_gate}) {
      if (!method.normalizes && placement != CellNormPlacement::paper) continue;  // refused
      DYNAMIC_SECTION(name << " LSTM: eq. 20 to 22, 29 to 31, variants "
                           << static_cast<int>(placement)) {
        const RecurrentLayer layer(Cell::lstm, 4, H, random,
                                   {.norm = name, .placement = placement});
        randomize(layer);
        const Tensor xw = matmul(x, weight_of(layer.input.weight, layer.input.gain)),
                     hw = matmul(h, weight_of(layer.weight, layer.weight_gain)),
                     b = layer.input.bias;
        Tensor sum = hw + xw + b;
        if (placement == CellNormPlacement::paper)
          sum = normed(hw, layer.product_norm) + normed(xw, layer.input_norm) + b;
        if (placement == CellNormPlacement::sum) sum = normed(sum, layer.product_norm);
        if (placement == CellNormPlacement::per_gate) {
          auto gates = split(sum, {H, H, H, H}, -1);
          for (std::size_t i = 0; i < 4; ++i) gates[i] = normed(gates[i], layer.product_norm, i);
          sum = concat(gates, -1);
        }
        const auto gates = split(sum, {H, H, H, H}, -1);
        const Tensor cell = sigmoid(gates[1]) * c + sigmoid(gates[0]) * tanh(gates[2]);
        const RecurrentState found = layer.step(x, {h, c});
        CHECK(relative_error(found.c, cell) < recurrent_precision);
        CHECK(relative_error(found.h, sigmoid(gates[3]) * tanh(normed(cell, layer.cell_norm))) <
              recurrent_precision);
      }
    }
    DYNAMIC_SECTION(name << " GRU: eq. 26 to 28") {
      const RecurrentLayer layer(Cell::gru, 4, H, random, {.norm = name});
      randomize(layer);
      const auto xw = parts_of(matmul(x, weight_of(layer.input.weight, layer.input.gain)), H),
                 hw = parts_of(matmul(h, weight_of(layer.weight, layer.weight_gain)), H),
                 b = parts_of(reshape(layer.input.bias, {1, 3 * H}), H);
      const PartNorms &in = layer.input_norm, &product = layer.product_norm;
      const auto gates =
          split(sigmoid(normed(xw[0], in, 0) + normed(hw[0], product, 0) + b[0]), {H, H}, -1);
      Tensor candidate = normed(hw[1], product, 1);
      if (layer.candidate_bias.defined()) candidate = candidate + layer.candidate_bias;
      const Tensor n = tanh(normed(xw[1], in, 1) + b[1] + gates[0] * candidate);
      CHECK(relative_error(layer.step(x, {h, {}}).h, (1 - gates[1]) * n + gates[1] * h) <
            recurrent_precision);
    }
  }
}

TEST_CASE("invariances of the layer-normalized LSTM", "[recurrent][norm]") {
  Random random(5);
  const RecurrentLayer layer(Cell::lstm, 3, 6, random, {.norm = "layer:eps=0"});
  const Tensor x = random.normal({4, 2, 3});
  // h must not be 0 where its product is normalized
  const RecurrentState first{random.normal({2, 6}), random.normal({2, 6})};
  const Tensor before = layer(x, first).outputs;
  Parameter weight = layer.weight, input = layer.input.weight;
  const Tensor original = detach(weight);
  weight.set(original * 3.0);
  CHECK(relative_error(layer(x, first).outputs, before) < recurrent_precision);
  weight.set(original + random.normal({6, 1}));  // a common column added to all of a row's sums
  CHECK(relative_error(layer(x, first).outputs, before) < recurrent_precision);
  weight.set(original);
  input.set(detach(input) * 5.0);
  CHECK(relative_error(layer(x, first).outputs, before) < recurrent_precision);
  CHECK(relative_error(layer(x * random.uniform({4, 2, 1}, 0.5, 2), first).outputs, before) <
        recurrent_precision);
}

TEST_CASE("a layer-normalized RNN neither explodes nor vanishes", "[recurrent][norm]") {
  for (const char* norm : {"none", "layer"}) {
    std::vector<double> sizes;
    for (const double scale : {0.5, 1.0, 2.0}) {
      Random random(6);
      const RecurrentLayer layer(Cell::rnn_relu, 4, 32, random, {.norm = norm});
      Parameter weight = layer.weight;
      weight.set(detach(weight) * (scale * 1.4142));
      const Tensor x = zeros({100, 1, 4});
      sizes.push_back(tapegrad::norm(layer(x, {random.normal({1, 32}), {}}).last.h).item());
    }
    if (norm == std::string("layer"))
      CHECK((sizes[0] == Approx(sizes[1]).epsilon(1e-2) &&
             sizes[1] == Approx(sizes[2]).epsilon(1e-2)));
    else
      CHECK(sizes[2] > 1e20 * sizes[0]);
  }
}

TEST_CASE("derivatives through recurrent layers", "[recurrent]") {
  Random random(7);
  for (const Cell& cell : cells_with_norms)
    for (const char* norm : {"none", "layer"}) {
      DYNAMIC_SECTION(cell.name << " " << norm) {
        const Recurrent net(cell, 2, 3, random, {.layers = 2, .bidirectional = true, .norm = norm});
        // Larger weights, away from the kinks of relu.
        const Function f = [&](const std::vector<Tensor>& in) {
          return net(in[0], {}, Indices({2}, {3, 2})).outputs;
        };
        const Tensor x = random.normal({3, 2, 2}, 0, 2);
        const CheckResult first = check_gradient(f, {x}), second = check_second_gradient(f, {x});
        INFO(first.message << second.message);
        if (cell == Cell::rnn_relu) return;  // kinks: the table has it at chosen points
        CHECK(first);
        CHECK(second);
      }
    }
}

TEST_CASE("batches, lengths and directions of recurrent layers", "[recurrent]") {
  Random random(8);
  const Tensor x = random.normal({5, 3, 2});
  for (const Cell& cell : cells_with_norms) {
    CAPTURE(cell.name);
    const Recurrent net(cell, 2, 4, random, {.layers = 2, .bidirectional = true});
    const Indices lengths({3}, {5, 2, 3});
    const auto result = net(x, {}, lengths);
    // each sequence alone, unpadded
    for (Index b = 0; b < 3; ++b) {
      const Index length = lengths.data()[b];
      const Tensor alone = slice(slice(x, 1, b, b + 1), 0, 0, length);
      const auto expected = net(alone);
      const Tensor found = slice(slice(result.outputs, 1, b, b + 1), 0, 0, length);
      CHECK(relative_error(found, expected.outputs) < recurrent_precision);
      CHECK(relative_error(slice(result.last[3].h, 0, b, b + 1), expected.last[3].h) <
            recurrent_precision);
      if (length < 5)
        CHECK(tapegrad::norm(slice(slice(result.outputs, 1, b, b + 1), 0, length, 5)).item() == 0);
    }
    // the padding does not matter
    Tensor changed = x.view(x.shape());
    changed = where(greater(arange(5), 2.5).view({5, 1, 1}), x, x);
    const Tensor noise = concat({slice(x, 0, 0, 3), slice(x, 0, 3, 5) + 7.0});
    const Tensor mixed = concat({slice(x, 1, 0, 1), slice(noise, 1, 1, 3)}, 1);
    CHECK(relative_error(net(mixed, {}, lengths).outputs, result.outputs) == 0);
  }
}

TEST_CASE("a carried state continues a sequence", "[recurrent]") {
  Random random(9);
  const Tensor x = random.normal({6, 2, 3});
  for (const Cell& cell : cells_with_norms)
    for (const char* norm : {"none", "layer", "ada"}) {
      CAPTURE(cell.name, norm);
      const Recurrent net(cell, 3, 4, random, {.layers = 2, .norm = norm});
      const auto whole = net(x);
      const auto first = net(slice(x, 0, 0, 2));
      std::vector<RecurrentState> carried;
      for (const RecurrentState& state : first.last) carried.push_back(detach(state));
      const auto second = net(slice(x, 0, 2, 6), carried);
      CHECK(relative_error(concat({first.outputs, second.outputs}), whole.outputs) <
            recurrent_precision);
    }
}

TEST_CASE("a sequence does not depend on the others of its batch", "[recurrent]") {
  Random random(10);
  const Recurrent net(Cell::lstm, 16, 48, random, {.norm = "layer"});
  const Tensor x = random.normal({7, 37, 16});
  const Tensor whole = net(x).outputs;
  for (const Index b : {0, 15, 16, 36})
    CHECK(relative_error(net(slice(x, 1, b, b + 1)).outputs, slice(whole, 1, b, b + 1)) <
          recurrent_precision);
}

TEST_CASE("long sequences do not blow up a layer-normalized LSTM", "[recurrent][norm]") {
  Random random(11);
  const Recurrent net(Cell::lstm, 4, 8, random, {.norm = "layer"});
  const Tape tape;
  const Tensor outputs = net(random.normal({500, 1, 4})).outputs;
  const std::vector<Tensor> gradients = grad(sum(square(outputs)), parameters(net));
  CHECK(range(outputs).non_finite == 0);
  for (const Tensor& gradient : gradients) CHECK(range(gradient).non_finite == 0);
}

TEST_CASE("options of recurrent layers have an effect", "[recurrent]") {
  Random random(12);
  const Tensor x = random.normal({4, 2, 3});
  Random mask(1);
  const Recurrent dropped(Cell::gru, 3, 16, random, {.layers = 2, .dropout = 0.5});
  CHECK(relative_error(dropped(x, {}, {}, training(mask)).outputs, dropped(x).outputs) > 1e-3);
  // variational: the second layer sees the same channels at every step
  const Recurrent same(Cell::gru, 3, 64, random,
                       {.layers = 2, .dropout = 0.5, .variational = true});
  Parameter weight = same.layers[1].weight;
  CHECK(relative_error(same(x, {}, {}, training(mask)).outputs, same(x).outputs) > 1e-3);
  const Recurrent learned(Cell::lstm, 3, 4, random, {.learned_state = true});
  const Tape tape;
  const Tensor h = learned.layers[0].first_h;
  CHECK(tapegrad::norm(grad(sum(learned(x).outputs), h)).item() > 0);
  const RecurrentLayer layer(Cell::lstm, 2, 5, random);
  const Tensor w = layer.weight.value();  // each block orthogonal
  for (const Tensor& block : split(w, {5, 5, 5, 5}, 1))
    CHECK(relative_error(matmul(block, block, {.a = true}), eye(5)) < 1e-5);
}

TEST_CASE("statistics of a batch belong to steps in recurrent layers", "[recurrent][norm]") {
  Random random(13);
  const RecurrentLayer layer(Cell::lstm, 3, 4, random, {.norm = "batch:steps=3,gain=0.1"});
  const Tensor x = random.normal({5, 6, 3});
  layer(x, {}, {}, training(random));
  const Tensor means = layer.input_norm.parts[0].buffers[0].buffer;
  CHECK(means.shape() == Shape{3, 16});
  const Tensor product = matmul(x, layer.input.weight);
  CHECK(relative_error(select(means, 0), 0.1 * mean(select(product, 0), 0)) < recurrent_precision);
  CHECK(relative_error(select(means, 1), 0.1 * mean(select(product, 1), 0)) < recurrent_precision);
  CHECK_FALSE(layer.product_norm.parts[0].bias.defined());
  const Tensor all = layer(x).outputs;  // running averages: cases do not see each other
  CHECK(relative_error(layer(slice(x, 1, 2, 3)).outputs, slice(all, 1, 2, 3)) <
        recurrent_precision);
}

TEST_CASE("recurrent layers refuse what they cannot do", "[recurrent]") {
  Random random(14);
  CHECK_THROWS_WITH(RecurrentLayer(Cell::gru, 2, 3, random, {.norm = "instance"}),
                    Contains("instance") && Contains("gru"));
  CHECK_THROWS_WITH(RecurrentLayer(Cell::gru, 2, 3, random, {.norm = "whiten"}),
                    Contains("recurrent: whitening does not fit a gru"));
  CHECK_THROWS_WITH(RecurrentLayer(Cell::gru, 2, 3, random,
                                   {.norm = "layer", .placement = CellNormPlacement::cell}),
                    Contains("lstm"));
  CHECK_THROWS_WITH(RecurrentLayer(Cell::gru_reset_first, 2, 3, random, {.norm = "layer"}),
                    Contains("gru_reset_first"));
  const Recurrent net(Cell::lstm, 2, 3, random);
  CHECK_THROWS_WITH(net(zeros({4, 1, 5})), Contains("(T, B, 2)") && Contains("(4, 1, 5)"));
  CHECK_THROWS_AS(net(zeros({4, 1, 2}), {}, Indices({1}, {5})), ShapeError);
  CHECK_THROWS_AS(net(zeros({4, 1, 2}), {}, Indices({2}, {1, 1})), ShapeError);
  CHECK_THROWS_AS(net(zeros({4, 1, 2}), {{zeros({2, 3}), zeros({1, 3})}}), ShapeError);
  CHECK(net(zeros({0, 1, 2})).outputs.shape() == Shape{0, 1, 3});
  CHECK(net(zeros({1, 1, 2})).outputs.shape() == Shape{1, 1, 3});
  const RecurrentNorms both{.inputs = {.statistics = NormOptions{}},
                            .product = {.statistics = NormOptions{}, .over_sum = true}};
  CHECK_THROWS_WITH(
      recurrent(Cell::lstm, zeros({1, 2, 8}), zeros({2, 8}), {zeros({2, 2}), zeros({2, 2})}, both),
      Contains("the sum is normalized"));
}

TEST_CASE("a cell of one's own is a step in operations", "[recurrent]") {
  const Cell residual{
      .name = "residual rnn",
      .gates = 1,
      .norms = CellNorms::of_sum,
      .step = [](const Tensor& inputs, const Tensor& weight, const RecurrentState& state,
                 const StepFunctions& functions, Index step) {
        const Tensor sum = inputs + matmul(state.h, weight);
        return RecurrentState{state.h + tanh(functions.product(sum, step)), {}};
      }};
  Random random(15);
  const RecurrentLayer layer(residual, 3, 4, random, {.norm = "layer"});
  const Tensor x = random.normal({2, 3, 3});
  const auto h_after = [&](const Tensor& h, Index step) {
    const Tensor sum = layer.input(select(x, step)) + matmul(h, layer.weight);
    return h + tanh(layer.product_norm(sum, step, {}));
  };
  const Tensor first = h_after(zeros({3, 4}), 0), second = h_after(first, 1);
  CHECK(relative_error(layer(x).outputs, stack({first, second})) < recurrent_precision);
  CHECK_THROWS_WITH(layer(zeros({2, 3, 4})), Contains("residual rnn: x must be (T, B, 3)"));
  CHECK_THROWS_WITH(RecurrentLayer({.name = "stepless"}, 3, 4, random)(x), Contains("step"));
}

TEST_CASE("what stands in the padding reaches no gradient", "[recurrent]") {
  const Indices lengths({2}, {4, 2});
  Random random(16);
  const Tensor x = without_padding(random.normal({4, 2, 3}), lengths);
  const Tensor spoilt = where(running(lengths, 0, 4), x, std::numeric_limits<double>::quiet_NaN());
  for (const std::string& name : cell_names())
    for (const char* norm : {"none", "layer", "batch"}) {
      const Cell& cell = Cell::named(name);
      if (cell.norms == CellNorms::none && norm != std::string("none")) continue;
      for (const bool readable : {false, true}) {
        INFO(cell.name << ", " << norm << (readable ? ", composite" : ""));
        const Composite choice(readable);
        const Recurrent net(cell, 3, 4, random, {.layers = 2, .bidirectional = true, .norm = norm});
        const auto gradients = [&](const Tensor& in) {
          const Tape tape;
          const Tensor input = watch(in);
          std::vector<Tensor> leaves{input};
          for (const Parameter& each : parameters(net)) leaves.push_back(each);
          const auto result = net(input, {}, lengths, training(random));
          return grad(sum(square(result.outputs)) + sum(result.last[0].h), leaves);
        };
        const std::vector<Tensor> right = gradients(x), found = gradients(spoilt);
        for (std::size_t i = 0; i < right.size(); ++i)
          CHECK(max(abs(right[i] - found[i])).item() == 0);
      }
    }
  for (const bool readable : {false, true}) {  // the operation itself
    const Composite choice(readable);
    const Tape tape;
    const Tensor inputs = concat({x, x, x, x}, -1), weight = watch(ones({3, 12}));
    const Tensor bad =
        where(running(lengths, 0, 4), inputs, std::numeric_limits<double>::quiet_NaN());
    const RecurrentNorms norms{.inputs = {.statistics = NormOptions{}, .gain = watch(ones({12}))}};
    const RecurrentState first{zeros({2, 3}), zeros({2, 3})};
    for (const RecurrentNorms& each : {RecurrentNorms{}, norms}) {
      const auto of = [&](const Tensor& in) {
        const Tensor y = recurrent(Cell::lstm, in, weight, first, each, lengths).outputs;
        return grad(sum(y), {weight, norms.inputs.gain});
      };
      const std::vector<Tensor> right = of(inputs), found = of(bad);
      for (std::size_t i = 0; i < 2; ++i) CHECK(max(abs(right[i] - found[i])).item() == 0);
    }
    const auto of_definition = [&](const Tensor& in) {
      const StepFunction same = [](const Tensor& rows, Index) { return rows; };
      return grad(
          sum(composite::recurrent(Cell::lstm, in, weight, first, {same, same}, lengths).outputs),
          weight);
    };
    CHECK(max(abs(of_definition(inputs) - of_definition(bad))).item() == 0);
  }
}
