#include <catch2/catch.hpp>

#include "support/values.h"
#include "tapegrad/core/error.h"
#include "tapegrad/nn/layers/recurrent.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/recompute.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

const Indices sequence_lengths({4}, {2, 4, 3, 4});

// The input with other numbers in its padding.
Tensor other_padding(const Tensor& x) {
  Tensor changed(x.shape(), x.values());
  for (Index t = 0; t < x.shape()[0]; ++t)
    for (Index b = 0; b < x.shape()[1]; ++b)
      for (Index i = 0; t >= sequence_lengths.data()[b] && i < x.shape()[2]; ++i)
        changed.mutable_data()[(t * x.shape()[1] + b) * x.shape()[2] + i] += 5;
  return changed;
}

}  // namespace

TEST_CASE("padding changes nothing, whatever the norm", "[recurrent][norm]") {
  for (const Cell cell : {Cell::rnn_tanh, Cell::lstm, Cell::gru})
    for (const char* norm : {"none", "layer", "rms", "group", "batch"}) {
      Random random(1);
      const Recurrent net(cell, 3, 6, random, {.bidirectional = true, .norm = norm});
      const Recurrent twin = clone(net);
      const Tensor x = random.normal({4, 4, 3});
      const Recurrent::Result result = net(x, {}, sequence_lengths, training(random));
      const Recurrent::Result other =
          twin(other_padding(x), {}, sequence_lengths, training(random));
      INFO(norm);
      CHECK(distance(result.outputs, other.outputs) == 0);
      CHECK(distance(result.last[1].h, other.last[1].h) == 0);
      for (std::size_t i = 0; i < fields(net).buffers().size(); ++i)
        CHECK(distance(fields(net).buffers()[i].buffer, fields(twin).buffers()[i].buffer) == 0);
    }
}

TEST_CASE("statistics of a batch are over the sequences that still run", "[recurrent][norm]") {
  Random random(2);
  const RecurrentLayer layer(Cell::lstm, 3, 4, random, {.norm = "batch:momentum=1"});
  const Tensor x = random.normal({4, 4, 3});
  layer(x, {}, sequence_lengths, training(random));
  const Tensor means = layer.input_norm.parts[0].buffers[0].buffer;
  const Tensor product = matmul(x, layer.input.weight.value());
  for (Index t = 0; t < 4; ++t) {
    Tensor expected = zeros({16});
    Index count = 0;
    for (Index b = 0; b < 4; ++b)
      if (t < sequence_lengths.data()[b]) {
        expected = expected + select(select(product, t), b);
        ++count;
      }
    CHECK(distance(select(means, t), expected / static_cast<double>(count)) < 1e-5);
  }
}

TEST_CASE("steps at which no sequence runs leave running averages alone", "[recurrent][norm]") {
  Random random(3);
  const RecurrentLayer layer(Cell::gru, 3, 4, random, {.norm = "batch"});
  const Tensor x = random.normal({3, 2, 3});
  layer(x, {}, Indices({2}, {1, 2}), training(random));
  const Tensor means = layer.input_norm.parts[0].buffers[0].buffer;
  CHECK(max(abs(select(means, 1))).item() > 0);
  CHECK(max(abs(select(means, 2))).item() == 0);
}

TEST_CASE("derivatives of statistics over the sequences that still run", "[recurrent][norm]") {
  Random random(4);
  const RecurrentLayer layer(Cell::gru, 2, 3, random, {.norm = "batch"});
  const Indices ends({4}, {1, 3, 3, 3});
  const Function f = [&](const std::vector<Tensor>& in) {
    Random numbers(5);
    return layer(in[0], {}, ends, training(numbers)).outputs;
  };
  const std::vector<Tensor> xs{random.normal({3, 4, 2})};
  CHECK(check_gradient(f, xs));
  if (sizeof(real) == 8) CHECK(check_second_gradient(f, xs));
}

TEST_CASE("lengths that do not fit are refused whatever the norm", "[recurrent]") {
  for (const char* norm : {"none", "layer", "batch"}) {
    Random random(6);
    const Recurrent net(Cell::lstm, 2, 3, random, {.bidirectional = true, .norm = norm});
    const Tensor x = ones({4, 2, 2});
    CHECK_THROWS_WITH(net(x, {}, Indices({3}, {1, 1, 1})), Contains("one length per sequence"));
    CHECK_THROWS_WITH(net(x, {}, Indices({2}, {1, 5})), Contains("lengths"));
    CHECK_THROWS_AS(net.layers[0](x, {}, Indices({2}, {-1, 4})), ShapeError);
  }
}
