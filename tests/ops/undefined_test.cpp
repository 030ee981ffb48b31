#include <algorithm>
#include <catch2/catch.hpp>

#include "ops/table.h"
#include "support/golden.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/range.h"
#include "tapegrad/nn/functions/attention.h"
#include "tapegrad/nn/functions/divisive.h"
#include "tapegrad/nn/functions/dropout.h"
#include "tapegrad/nn/functions/loss.h"
#include "tapegrad/nn/layers/conv.h"
#include "tapegrad/nn/layers/dropout.h"
#include "tapegrad/nn/layers/embedding.h"
#include "tapegrad/nn/layers/linear.h"
#include "tapegrad/nn/layers/norm.h"
#include "tapegrad/nn/layers/recurrent.h"
#include "tapegrad/nn/layers/sequential.h"
#include "tapegrad/ops/affine.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/order.h"
#include "tapegrad/ops/recompute.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

// The message with which a call refuses an undefined input; "" if it does not.
template <class F>
std::string refusal_of(const F& call) {
  try {
    call();
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "";
}

const Tensor undefined;
const Indices no_indices;

}  // namespace

TEST_CASE("every operation refuses undefined tensors by name", "[ops]") {
  for (const Row& row : table()) {
    const std::vector<Tensor> inputs = golden(row).inputs;
    for (std::size_t i = 0; i < inputs.size() - row.optional; ++i) {
      std::vector<Tensor> with_one_missing = inputs;
      with_one_missing[i] = undefined;
      INFO(row.name << ", input " << i);
      for (const bool readable : {false, true}) {
        const Composite choice(readable);
        const std::string message = refusal_of([&] { row.f(with_one_missing); });
        CHECK_THAT(message, Catch::Contains("undefined"));
        CHECK_THAT(message, Catch::Contains("table.cpp:"));
      }
    }
  }
}

TEST_CASE("a refusal of an undefined tensor names the operation and the line that called it",
          "[ops]") {
  const Tensor x = ones({2, 3}), row = ones({3}), image = ones({1, 2, 3, 3}), weight = ones({3, 3}),
               sequence = ones({1, 2, 3});
  const Indices places({2}, {0, 1});
  Random random(1);
  struct Call {
    std::string operation;
    std::function<void()> call;
  };
  const Tensor& u = undefined;
  const Indices& v = no_indices;
  const std::vector<Call> calls{
      {"add", [&] { add(u, x); }},
      {"add", [&] { x + u; }},
      {"neg", [&] { -u; }},
      {"relu", [&] { relu(u); }},
      {"leaky_relu", [&] { leaky_relu(u); }},
      {"elu", [&] { elu(u); }},
      {"gelu", [&] { gelu(u); }},
      {"gelu_tanh", [&] { gelu_tanh(u); }},
      {"silu", [&] { silu(u); }},
      {"clamp", [&] { clamp(u, 0, 1); }},
      {"equal", [&] { equal(x, u); }},
      {"greater", [&] { greater(u, x); }},
      {"where", [&] { where(u, x, x); }},
      {"where", [&] { where(x, x, u); }},
      {"masked_fill", [&] { masked_fill(x, u, 0); }},
      {"sum", [&] { sum(u); }},
      {"mean", [&] { mean(u); }},
      {"var", [&] { var(u); }},
      {"stddev", [&] { stddev(u); }},
      {"norm", [&] { norm(u); }},
      {"max", [&] { max(u); }},
      {"min", [&] { min(u); }},
      {"logsumexp", [&] { logsumexp(u); }},
      {"argmax", [&] { argmax(u); }},
      {"sum_to", [&] { sum_to(u, {}); }},
      {"reshape", [&] { reshape(u, {1}); }},
      {"permute", [&] { permute(u, {}); }},
      {"transpose", [&] { transpose(u); }},
      {"slice", [&] { slice(u, 0, 0, 1); }},
      {"select", [&] { select(u, 0); }},
      {"concat",
       [&] {
         concat({row, u});
       }},
      {"stack",
       [&] {
         stack({row, u});
       }},
      {"split", [&] { split(u, {1}); }},
      {"broadcast_to", [&] { broadcast_to(u, {2}); }},
      {"pad", [&] { pad(u, {}); }},
      {"tril", [&] { tril(u); }},
      {"triu", [&] { triu(u); }},
      {"matmul", [&] { matmul(x, u); }},
      {"linear", [&] { linear(x, weight, u); }},
      {"outer", [&] { outer(u, row); }},
      {"embedding", [&] { embedding(u, places); }},
      {"embedding", [&] { embedding(weight, v); }},
      {"gather", [&] { gather(x, 0, v); }},
      {"scatter_add",
       [&] {
         scatter_add(x, 0, v, {3, 3});
       }},
      {"pick", [&] { pick(x, v); }},
      {"one_hot", [&] { one_hot(v, 3); }},
      {"take", [&] { take(x, v); }},
      {"put", [&] { put(row, v, {3}); }},
      {"cross_entropy", [&] { cross_entropy(x, v); }},
      {"cross_entropy", [&] { cross_entropy(u, places); }},
      {"cross_entropy", [&] { cross_entropy(x, u); }},
      {"mse", [&] { mse(x, u); }},
      {"dropout", [&] { dropout(u, 0.5, random); }},
      {"dropout", [&] { dropout(u, 0, random); }},
      {"cumsum", [&] { cumsum(u, 0); }},
      {"sort", [&] { sort(u); }},
      {"top_k", [&] { top_k(u, 1); }},
      {"conv2d", [&] { conv2d(image, u); }},
      {"conv1d", [&] { conv1d(u, sequence); }},
      {"conv_transpose2d", [&] { conv_transpose2d(u, image); }},
      {"max_pool2d", [&] { max_pool2d(u, {}); }},
      {"avg_pool2d", [&] { avg_pool2d(u, {}); }},
      {"attention", [&] { attention(sequence, u, sequence); }},
      {"self_attention", [&] { self_attention(u); }},
      {"rotary", [&] { rotary(u, 1); }},
      {"rotary", [&] { rotary(sequence, 1, Indices()); }},
      {"relative_shift", [&] { relative_shift(u); }},
      {"layer_norm", [&] { layer_norm(u); }},
      {"rms_norm", [&] { rms_norm(u); }},
      {"normalize", [&] { normalize(u, both({.axes = {-1}})); }},
      {"affine", [&] { affine(x, u, row); }},
      {"affine_norm", [&] { affine_norm(u, both({.axes = {-1}}), row, row); }},
      {"divisive_norm", [&] { divisive_norm(x, u, weight); }},
      {"recurrent", [&] { recurrent(Cell::gru, u, weight, {}); }},
      {"watch",
       [&] {
         const Tape tape;
         watch(u);
       }},
      {"detach", [&] { detach(u); }},
      {"item", [&] { u.item(); }},
      {"probe", [&] { probe(u, {}); }},
      {"grad",
       [&] {
         const Tape tape;
         grad(u, watch(x));
       }},
      {"vjp", [&] { vjp([](const auto& in) { return in[0]; }, {u}, x); }},
      {"jacobian", [&] { jacobian([](const Tensor& in) { return in; }, u); }},
      {"hvp", [&] { hvp([](const Tensor& in) { return sum(in); }, u, x); }},
  };
  for (const Call& each : calls) {
    INFO(each.operation);
    CHECK_THAT(refusal_of(each.call),
               Catch::StartsWith(each.operation + ":") || Catch::StartsWith(each.operation + " "));
    CHECK_THAT(refusal_of(each.call), Catch::Contains("undefined"));
    CHECK_THAT(refusal_of(each.call), Catch::Contains(" [undefined_test.cpp:"));
  }
}

TEST_CASE("what is no operation refuses undefined tensors as well", "[ops]") {
  CHECK_THAT(refusal_of([] { undefined.view({}); }), Catch::StartsWith("view:"));
  CHECK_THAT(refusal_of([] { range(undefined); }), Catch::StartsWith("range:"));
  CHECK_THAT(refusal_of([] { Parameter(ones({2})).set(undefined); }),
             Catch::StartsWith("parameter: set:"));
}

TEST_CASE("a parameter that its layer does not have is refused where it is used", "[ops]") {
  Random random(1);
  const Linear layer(2, 3, random, {.bias = false});
  const Tape tape;
  CHECK_THAT(refusal_of([&] { layer.bias * 2.0; }), Catch::StartsWith("mul: input 0 is undefined"));
  CHECK_THAT(refusal_of([&] { sum(Tensor(layer.bias)); }), Catch::StartsWith("sum: input 0"));
  CHECK(tape.size() == 0);
}

TEST_CASE("layers refuse undefined inputs", "[ops]") {
  Random random(1);
  const auto check = [](const std::string& message) {
    CHECK_THAT(message, Catch::Contains("undefined"));
    CHECK_THAT(message, Catch::Contains(" [undefined_test.cpp:"));
  };
  check(refusal_of([&] { Linear(2, 3, random)(undefined); }));
  check(refusal_of([&] { Conv2d(2, 3, 3, random)(undefined); }));
  check(refusal_of([&] { Flatten()(undefined); }));
  check(refusal_of([&] { Dropout()(undefined); }));
  check(refusal_of([&] { Sequential()(undefined); }));
  CHECK_THAT(refusal_of([&] { RowNormalization()(undefined); }), Catch::Contains("undefined"));
  check(refusal_of([&] { Embedding(2, 3, random)(no_indices); }));
  check(refusal_of([&] { Recurrent(Cell::gru, 2, 3, random)(undefined); }));
  for (const std::string& name : norm_names())
    check(refusal_of([&] { Norm(name, 4, Channels::second)(undefined); }));
}

TEST_CASE("functions and layers that are empty are refused", "[ops]") {
  Random random(1);
  Layer layer = Linear(2, 3, random);
  const Layer moved = std::move(layer);
  CHECK_NOTHROW(moved(ones({2})));
  CHECK_THROWS_WITH(layer(ones({2})), Catch::Contains("moved"));  // NOLINT: on purpose
  CHECK_THROWS_WITH(AroundNorms(AroundNorms::Around()), Catch::Contains("empty"));
  CHECK_FALSE(AroundNorms::active());
  const AroundNorms undefined_result(
      [](const Norm&, const Tensor&, const AroundNorms::Apply&) { return Tensor(); });
  CHECK_THROWS_WITH(Norm("none", 2)(ones({2})), Catch::Contains("undefined"));
}

TEST_CASE("undefined tensors have no values, and print as undefined", "[ops]") {
  CHECK(undefined.values().empty());
  CHECK(no_indices.values().empty());
  CHECK(to_string(undefined) == "undefined");
}
