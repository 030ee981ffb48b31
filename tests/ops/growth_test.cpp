// The operations whose instructions growth_test.py counts, forward and backward, as one axis after
// the other becomes longer.

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "ops/table.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/random.h"
#include "tapegrad/nn/functions/attention.h"
#include "tapegrad/nn/functions/conv.h"
#include "tapegrad/nn/functions/ctc.h"
#include "tapegrad/nn/functions/loss.h"
#include "tapegrad/nn/functions/recurrent.h"
#include "tapegrad/nn/functions/similarity.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/order.h"
#include "tapegrad/ops/reduce.h"
#include "tapegrad/ops/softmax.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

struct Operation {
  std::string name;
  Tensors inputs;
  Function f;

  Operation(std::string n, Tensors in, Function of)
      : name(std::move(n)), inputs(std::move(in)), f(std::move(of)) {}
  Operation(std::string n, const std::vector<Shape>& shapes, Function of)
      : Operation(std::move(n), Tensors(), std::move(of)) {
    Random random(1);
    for (const Shape& shape : shapes) inputs.push_back(random.normal(shape));
  }
};

Index extent(const Tensor& x, int axis) { return x.shape()[axis]; }

// 0, 1, ..., below - 1, and again.
Indices repeating_ids(const Shape& shape, Index below) {
  Indices repeating = Indices::uninitialized(shape);
  for (Index i = 0; i < repeating.size(); ++i) repeating.mutable_data()[i] = i % below;
  return repeating;
}
// One for each element of an axis.
Indices labels_of(const Tensor& x) { return repeating_ids({extent(x, 0)}, 4); }
Tensor ones_along(const Tensor& x, int axis) { return ones({extent(x, axis)}); }
Indices lengths_of(const Tensor& x, Index length) {
  return Indices({extent(x, 1)},
                 std::vector<Index>(static_cast<std::size_t>(extent(x, 1)), length));
}

Tensor ctc_along(const Tensor& x, const Tensor& like_targets) {
  const Indices targets = repeating_ids(like_targets.shape(), 8);
  return ctc(log_softmax(x), lengths_of(x, extent(x, 0)),
             {targets, lengths_of(x, extent(like_targets, 1))}, {.blank = 8});
}

Tensor attention_with_mask(const Tensor& q, const Tensor& k, const Tensor& v) {
  const Tensor mask = ones({extent(q, 0), 1, 1, extent(k, 1)});
  return attention(q, k, v, {.heads = 2, .mask = mask, .bias = ones({2, 1, extent(k, 1)})});
}

Function recurrent_of(const Cell& cell, Index gates) {
  return [=](In x) {
    const RecurrentState first{x[2], x.size() > 3 ? x[3] : Tensor()};
    return recurrent(cell, tile(x[0], {1, 1, gates}), tile(x[1], {1, gates}), first, {},
                     lengths_of(x[0], extent(x[0], 0)))
        .outputs;
  };
}

// Operations whose rows in the table keep the length of some axis. An input that is not the
// operation's own has the shape of its indices or of its result.
std::vector<Operation> of_any_shape() {
  using Shapes = std::vector<Shape>;
  const Shapes sequence{{3, 5, 2}, {2, 2}, {5, 2}}, pair{{4, 3}, {4, 3}};
  return {
      {"where", pair, [](In x) { return where(ones_along(x[0], 1), x[0], x[1]); }},
      {"masked_fill", pair, [](In x) { return masked_fill(x[0], ones_along(x[0], 1), 7); }},
      {"sum_to", Shapes{{2, 3, 4}, {3, 1}}, [](In x) { return sum_to(x[0], x[1].shape()); }},
      {"broadcast_to", Shapes{{2, 1}, {4, 2, 3}},
       [](In x) { return broadcast_to(x[0], x[1].shape()); }},
      {"split", pair,
       [](In x) {
         return split(x[0], {1, extent(x[0], 1) - 1}, 1)[1];
       }},
      {"tile", Shapes{{2, 3}, {5}},
       [](In x) {
         return tile(x[0], {extent(x[1], 0), 1});
       }},
      {"repeat_interleave", Shapes{{2, 3}, {5}},
       [](In x) { return repeat_interleave(x[0], extent(x[1], 0), 0); }},
      {"embedding", Shapes{{3, 2}, {5, 7}},
       [](In x) { return embedding(x[0], repeating_ids(x[1].shape(), 3)); }},
      {"gather", Shapes{{2, 4}, {2, 3}},
       [](In x) { return gather(x[0], 1, repeating_ids(x[1].shape(), 4)); }},
      {"scatter_add", Shapes{{2, 3}, {2, 4}},
       [](In x) { return scatter_add(x[0], 1, repeating_ids(x[0].shape(), 4), x[1].shape()); }},
      {"index_select", Shapes{{2, 4, 3}, {5}},
       [](In x) { return index_select(x[0], 1, repeating_ids(x[1].shape(), 4)); }},
      {"pick", Shapes{{3, 4}}, [](In x) { return pick(x[0], labels_of(x[0])); }},
      {"take", Shapes{{2, 4}, {5}},
       [](In x) { return take(x[0], repeating_ids(x[1].shape(), 8)); }},
      {"put", Shapes{{2, 3}, {4, 5}},
       [](In x) { return put(x[0], repeating_ids(x[0].shape(), 6), x[1].shape()); }},
      {"top_k", Shapes{{5, 3}}, [](In x) { return top_k(x[0], extent(x[0], 0) / 2, 0).values; }},
      {"conv1d", Shapes{{2, 2, 6}, {3, 2, 3}},
       [](In x) { return conv1d(x[0], x[1], {.padding = extent(x[1], 2) / 2}); }},
      {"conv1d", Shapes{{2, 4, 6}, {4, 1, 3}},
       [](In x) { return conv1d(x[0], x[1], {.groups = extent(x[0], 1)}); }},
      {"conv2d", Shapes{{2, 2, 4, 5}, {3, 2, 2, 3}},
       [](In x) {
         return conv2d(x[0], x[1], {.padding = {0, extent(x[1], 3) / 2}});
       }},
      {"conv2d", Shapes{{2, 4, 3, 5}, {4, 1, 2, 2}},
       [](In x) { return conv2d(x[0], x[1], {.groups = extent(x[0], 1)}); }},
      {"attention", Shapes{{2, 3, 4}, {2, 5, 4}, {2, 5, 4}},
       [](In x) { return attention_with_mask(x[0], x[1], x[2]); }},
      {"recurrent_relu", sequence, recurrent_of(Cell::rnn_relu, 1)},
      {"recurrent_lstm", Shapes{{3, 5, 2}, {2, 2}, {5, 2}, {5, 2}}, recurrent_of(Cell::lstm, 4)},
      {"recurrent_gru", sequence, recurrent_of(Cell::gru, 3)},
      {"without_padding", Shapes{{3, 5, 2}},
       [](In x) { return without_padding(x[0], lengths_of(x[0], 1)); }},
      {"cross_entropy", Shapes{{3, 4}},
       [](In x) { return cross_entropy(x[0], labels_of(x[0]), {.weight = ones_along(x[0], 1)}); }},
      {"nll", Shapes{{3, 4}}, [](In x) { return nll(x[0], labels_of(x[0])); }},
      {"binary_cross_entropy_with_logits", pair,
       [](In x) {
         const Tensor weight = ones_along(x[0], 1);
         return binary_cross_entropy_with_logits(x[0], x[1], {.positive_weight = weight});
       }},
      {"ctc", Shapes{{3, 2, 9}, {2, 3}}, [](In x) { return ctc_along(x[0], x[1]); }},
      {"cosine_embedding", pair,
       [](In x) { return cosine_embedding(x[0], x[1], ones_along(x[0], 0)); }},
  };
}

// A sum over each prefix, whose work grows with the square of the length: growth_test.py must find
// it.
Tensor sums_of_prefixes(const Tensor& x) {
  return matmul(tril(ones({extent(x, 0), extent(x, 0)})), x);
}
std::vector<Operation> planted() {
  const std::vector<Shape> shapes{{3, 16}};
  const Function same_value = [](In x) {
    return record("planted", x[0].view(x[0].shape()), {}, edge(x[0], sums_of_prefixes));
  };
  return {{"planted_in_the_value", shapes, [](In x) { return sums_of_prefixes(x[0]); }},
          {"planted_in_the_gradient", shapes, same_value}};
}

struct Axis {
  std::size_t input;
  int axis;
  auto operator<=>(const Axis&) const = default;
};

// The values are repeated, so that they stay where the operation is defined.
Tensors grown(Tensors inputs, const std::vector<Axis>& axes, Index factor) {
  for (const auto& [input, axis] : axes) {
    std::vector<Index> counts(static_cast<std::size_t>(inputs[input].shape().rank()), 1);
    counts[static_cast<std::size_t>(axis)] = factor;
    inputs[input] = tile(inputs[input], counts);
  }
  return inputs;
}

Index elements(In tensors) {
  Index sum = 0;
  for (const Tensor& each : tensors) sum += each.size();
  return sum;
}

bool accepts(const Operation& operation, In inputs) {
  try {
    operation.f(inputs);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// The smallest set of equally long axes, one of them given, that can grow together; empty if none.
std::vector<Axis> growing_together(const Operation& operation, const Axis& first) {
  const Tensors& inputs = operation.inputs;
  std::vector<Axis> others;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for (int axis = 0; axis < inputs[i].shape().rank(); ++axis)
      if (Axis{i, axis} != first &&
          extent(inputs[i], axis) == extent(inputs[first.input], first.axis))
        others.push_back({i, axis});
  std::vector<Axis> best;
  for (std::size_t chosen = 0; chosen < std::size_t{1} << others.size(); ++chosen) {
    std::vector<Axis> axes{first};
    for (std::size_t i = 0; i < others.size(); ++i)
      if (chosen >> i & 1) axes.push_back(others[i]);
    if ((best.empty() || axes.size() < best.size()) && accepts(operation, grown(inputs, axes, 8)))
      best = axes;
  }
  return best;
}

// growth_test.py has valgrind count within the first, and report at the second.
[[gnu::noinline]] void counted_step(const Operation& operation, In inputs, const Tensor& seed) {
  vjp(operation.f, inputs, seed);
}
[[gnu::noinline]] void step_ended() { asm volatile(""); }

// The third step has from 4000 to 8000 elements, or somewhat more.
void take_steps(const Operation& operation, const std::vector<Axis>& axes) {
  Index factor = 1;
  while (elements(grown(operation.inputs, axes, 4 * factor)) < 4000) factor *= 2;
  for (int i = 0; i < 3; ++i, factor *= 2) {
    const Tensors inputs = grown(operation.inputs, axes, factor);
    const Tensor value = operation.f(inputs), seed = ones(value.shape());
    vjp(operation.f, inputs, seed);
    const auto& [input, axis] = axes[0];
    fmt::print("step {} {} {} {} {}\n", operation.name, input, axis, extent(inputs[input], axis),
               elements(inputs) + value.size());
    counted_step(operation, inputs, seed);
    step_ended();
  }
}

// Whether every axis that is longer than 1 can grow.
bool grow_each_axis(const Operation& operation) {
  std::set<Axis> grown_already;
  bool all = true;
  for (std::size_t i = 0; i < operation.inputs.size(); ++i)
    for (int axis = 0; axis < operation.inputs[i].shape().rank(); ++axis) {
      if (extent(operation.inputs[i], axis) == 1 || grown_already.contains({i, axis})) continue;
      const std::vector<Axis> axes = growing_together(operation, {i, axis});
      grown_already.insert(axes.begin(), axes.end());
      all = all && !axes.empty();
      if (!axes.empty()) take_steps(operation, axes);
    }
  return all;
}

}  // namespace

TEST_CASE("steps whose instructions are counted", "[.growth]") {
  set_threads(1);
  const std::vector<Operation> others = of_any_shape();
  for (const Row& row : table()) {
    Tensors inputs = golden(row).inputs;
    // Products that leave the range of a double are multiplied again, in another way.
    if (row.name == "prod") inputs[0] = sign(inputs[0]);
    if (!grow_each_axis({row.name, inputs, row.f})) {
      INFO("an axis of " << row.name << " cannot grow: the list of growth_test.cpp needs it");
      CHECK(std::any_of(others.begin(), others.end(),
                        [&](const Operation& each) { return row.name.starts_with(each.name); }));
    }
    if (!row.fused) continue;
    const Composite definition;
    grow_each_axis({"composite::" + row.name, inputs, row.f});
  }
  for (const std::vector<Operation>& operations : {others, planted()})
    for (const Operation& operation : operations) grow_each_axis(operation);
}
