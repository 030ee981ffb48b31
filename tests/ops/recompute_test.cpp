#include <catch2/catch.hpp>

#include "tapegrad/core/random.h"
#include "tapegrad/core/storage.h"
#include "tapegrad/nn/dropout.h"
#include "tapegrad/nn/transformer.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;

namespace {

bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  bool same = a.size() == b.size();
  for (std::size_t i = 0; same && i < a.size(); ++i)
    same = a[i].shape() == b[i].shape() &&
           std::equal(a[i].values().begin(), a[i].values().end(), b[i].values().begin());
  return same;
}

// Gradients of a function of x and a parameter, with f inside recomputed or not.
std::vector<Tensor> gradients(const Function& f, const Tensor& data, const Parameter& w,
                              bool recomputed) {
  const Tape tape;
  const Tensor x = watch(data);
  const Tensor early = tanh(x);
  const Function uses_early = [&](const std::vector<Tensor>& in) { return f(in) * early; };
  const std::vector<Tensor> inputs{x * 2.0};
  const Tensor y = recomputed ? recompute(uses_early, inputs) : uses_early(inputs);
  return grad(sum(y * y), {x, w});
}

}  // namespace

TEST_CASE("recomputed gradients reach inputs, captured tensors and parameters", "[tape]") {
  Random random(1);
  const Parameter w(random.normal({4, 4}));
  const Tensor data = random.normal({3, 4});
  const Function f = [&](const std::vector<Tensor>& in) { return sin(matmul(in[0], w)) + in[0]; };
  CHECK(same_bits(gradients(f, data, w, true), gradients(f, data, w, false)));
  const Function nested = [&](const std::vector<Tensor>& in) { return recompute(f, {f(in)}); };
  CHECK(same_bits(gradients(nested, data, w, true), gradients(nested, data, w, false)));
  const Function slices = [&](const std::vector<Tensor>& in) {
    return matmul(slice(in[0], 0, 0, 3), w) * slice(in[0], 0, 0, 3);
  };
  CHECK(same_bits(gradients(slices, data, w, true), gradients(slices, data, w, false)));
}

TEST_CASE("a second use of a parameter inside and outside of what is recomputed", "[tape]") {
  Random random(2);
  const Parameter w(random.normal({4, 4}), "w");
  const Tensor x = random.normal({2, 4});
  const auto gradient = [&](bool first_outside, bool recomputed) {
    const Tape tape;
    const Function f = [&](const std::vector<Tensor>& in) { return tanh(matmul(in[0], w)); };
    Tensor y = first_outside ? matmul(x, w) : x;
    y = recomputed ? recompute(f, {y}) : f({y});
    y = matmul(y, w);
    CHECK(tape.label(tape.find(w)) == "w");
    return grad(sum(y), std::vector{w});
  };
  for (const bool first_outside : {false, true})
    CHECK(same_bits(gradient(first_outside, true), gradient(first_outside, false)));
}

TEST_CASE("dropout repeats its numbers when it is recomputed", "[tape]") {
  const Tensor data = Random(3).normal({64});
  const auto gradient = [&](bool recomputed, Random& random) {
    const Tape tape;
    const Tensor x = watch(data);
    const Function f = [&](const std::vector<Tensor>& in) {
      return dropout(square(in[0]), 0.5, random) + dropout(in[0], 0.5, random);
    };
    Tensor y = recomputed ? recompute(f, {x}) : f({x});
    y = dropout(y, 0.5, random);
    return grad(sum(y), std::vector{x});
  };
  Random random(4), again(4);
  CHECK(same_bits(gradient(true, random), gradient(false, again)));
  CHECK(random.state() == again.state());
}

TEST_CASE("second derivatives of what is recomputed", "[tape]") {
  Random random(5);
  const Tensor w = random.normal({3, 3});
  const Function f = [&](const std::vector<Tensor>& in) {
    return recompute([&](const auto& inner) { return tanh(matmul(inner[0], inner[1])) * inner[0]; },
                     in);
  };
  const std::vector<Tensor> xs{random.normal({2, 3}), w};
  CHECK(check_gradient(f, xs).ok);
  CHECK(check_second_gradient(f, xs).ok);
}

TEST_CASE("what is recomputed is not kept", "[tape]") {
  Random random(6);
  const TransformerStack stack(random, {.layers = 4, .heads = 2, .channels = 16, .causal = true});
  const Tensor data = random.normal({2, 32, 16});
  const auto run = [&](bool recomputed) {
    const Tape tape;
    Tensor x = watch(data);
    const Tensor leaf = x;
    for (const TransformerBlock& block : stack.blocks) {
      const Function f = [&](const std::vector<Tensor>& in) { return block(in[0]); };
      x = recomputed ? recompute(f, {x}) : f({x});
    }
    const std::size_t kept = tape.bytes();
    const std::int32_t nodes = tape.size();
    std::vector<Tensor> found = grad(sum(square(x)), std::vector{leaf});
    CHECK(tape.size() == nodes + 2);  // the loss; what was computed again is gone
    return std::pair(kept, found);
  };
  const auto [plain, expected] = run(false);
  const auto [less, found] = run(true);
  CHECK(same_bits(found, expected));
  CHECK(less * 5 < plain);
}

TEST_CASE("several sweeps, and what leaves nothing to recompute", "[tape]") {
  const Function twice = [](const std::vector<Tensor>& in) { return in[0] * in[0]; };
  CHECK(recompute(twice, {Tensor(3.0)}).item() == 9);  // without a tape
  const Tape tape;
  const Tensor x = watch(Tensor(3.0)), constant(2.0);
  const Tensor y = recompute(twice, {x});
  for (int sweep = 0; sweep < 2; ++sweep) CHECK(grad(y, x, {.keep = true}).item() == 6);
  const std::int32_t size = tape.size();
  CHECK(recompute(twice, {constant}).tape_id() == 0);
  CHECK(recompute([](const auto& in) { return in[0]; }, {x}).node() == x.node());
  CHECK(tape.size() == size);
}

TEST_CASE("on a tape that keeps values nothing is recomputed", "[tape]") {
  const Tape tape({.keep_values = true});
  const Tensor x = watch(Tensor(3.0));
  const Tensor y = recompute([](const auto& in) { return exp(in[0]); }, {x});
  CHECK(std::string(tape.node(y.node()).name) == "exp");
}
