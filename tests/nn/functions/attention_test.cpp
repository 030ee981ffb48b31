#include "tapegrad/nn/functions/attention.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "support/golden.h"
#include "support/values.h"
#include "tapegrad/core/error.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/derivatives.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {
constexpr double attention_precision = sizeof(real) == 8 ? 1e-9 : 1e-3;
}  // namespace

TEST_CASE("relative scores depend on each pair's distance", "[attention]") {
  const Index T = 3, K = 5;
  Random random(8);
  const Tensor x = random.normal({T, K}), y = relative_shift(x);
  for (Index i = 0; i < T; ++i)
    for (Index j = 0; j <= i + K - T; ++j)
      CHECK(y.data()[i * K + j] == x.data()[i * K + j + T - 1 - i]);
}

TEST_CASE("rotary positions keep lengths and see distances only", "[attention]") {
  Random random(9);
  const Tensor q = random.normal({1, 1, 8}), k = random.normal({1, 1, 8});
  CHECK(relative_error(rotary(q, 2, 0), q) == 0);
  const auto score = [&](Index m, Index n) {
    return sum(rotary(q, 2, m) * rotary(k, 2, n)).item();
  };
  CHECK(norm(rotary(q, 2, 77)).item() == Approx(norm(q).item()).epsilon(attention_precision));
  CHECK(score(9, 4) ==
        Approx(score(105, 100)).epsilon(attention_precision).margin(attention_precision));
  CHECK(std::abs(score(9, 4) - score(9, 5)) > 1e-3);
  CHECK_THROWS_WITH(rotary(zeros({1, 1, 6}), 2), Contains("even"));
}

TEST_CASE("rotary positions may be given one by one", "[attention]") {
  Random random(19);
  const Tensor x = random.normal({2, 3, 8});
  const Indices positions({2, 3}, {4, 0, 4, 7, 1, 0});
  const Tensor y = rotary(x, 2, positions);
  for (Index b = 0; b < 2; ++b)
    for (Index t = 0; t < 3; ++t) {
      const auto row = [&](const Tensor& of) { return slice(slice(of, 0, b, b + 1), 1, t, t + 1); };
      CHECK(relative_error(row(y), rotary(row(x), 2, positions.data()[3 * b + t])) == 0);
    }
  CHECK(check_gradient([&](const auto& in) { return rotary(in[0], 2, positions); }, {x}));
  CHECK_THROWS_WITH(rotary(x, 2, Indices({3}, {0, 1, 2})),
                    Contains("rotary: needs a position for each row of channels, (B, T): (3)"));
}

// Hidden pairs have the weight 0, but 0 times NaN is NaN.
TEST_CASE("a NaN in a query or its gradient does not reach keys that it may not see",
          "[attention]") {
  const Index T = 40, spoilt = 5;
  Random random(15);
  const Shape shape{1, T, 4};
  const Tensor q = random.normal(shape), k = random.normal(shape), v = random.normal(shape);
  const Tensor seed = random.normal(shape);
  const auto with_nan = [&](const Tensor& x) {
    Tensor copy(shape, x.values());
    copy.mutable_data()[spoilt * 4] = no_number;
    return copy;
  };
  const auto gradients = [&](const Tensor& queries, const Tensor& g) {
    return vjp([](const auto& in) { return attention(in[0], in[1], in[2], {.causal = true}); },
               {queries, k, v}, g);
  };
  const auto nans_after = [&](const Tensor& x) {
    return std::ranges::count_if(x.values().subspan((spoilt + 1) * 4),
                                 [](real value) { return std::isnan(value); });
  };
  CHECK(nans_after(gradients(with_nan(q), seed)[2]) == 0);  // of the values
  CHECK(nans_after(gradients(q, with_nan(seed))[1]) == 0);  // of the keys
  CHECK(std::isnan(gradients(q, with_nan(seed))[1].data()[0]));
}

TEST_CASE("dropout of attention's weights draws what its definition draws", "[attention]") {
  Random random(14);
  const Tensor q = random.normal({2, 5, 4}), k = random.normal({2, 7, 4}),
               v = random.normal({2, 7, 4}), mask = random.bernoulli({2, 1, 1, 7}, 0.8);
  const Tensor projected = random.normal({2, 5, 12});
  Random drawn(3);
  const auto drop = [&](bool causal, const Tensor& hidden) {
    drawn = Random(3);
    return AttentionOptions{
        .heads = 2, .causal = causal, .mask = hidden, .dropout = 0.4, .random = &drawn};
  };
  const auto other = [&](const std::vector<Tensor>& in) {
    return attention(in[0], in[1], in[2], drop(true, mask));
  };
  const auto self = [&](const std::vector<Tensor>& in) {
    return self_attention(in[0], drop(true, {}));
  };
  const auto check = [&](const Function& f, const std::vector<Tensor>& inputs) {
    const Tensor value = f(inputs);
    const auto after = drawn.state();
    const std::vector<Tensor> gradients = vjp(f, inputs, square(value));
    {
      const Composite readable;
      CHECK(relative_error(f(inputs), value) < golden_tolerance);
      CHECK(drawn.state() == after);
      const std::vector<Tensor> expected = vjp(f, inputs, square(value));
      for (std::size_t i = 0; i < inputs.size(); ++i)
        CHECK(relative_error(gradients[i], expected[i]) < golden_tolerance);
    }
    CHECK(check_gradient(f, inputs));
  };
  const auto all_keys = [&](const std::vector<Tensor>& in) {
    return attention(in[0], in[1], in[2], drop(false, {}));
  };
  check(other, {q, k, v});
  check(all_keys, {q, k, v});
  check(self, {projected});
  CHECK(check_second_gradient(other, {q, k, v}));
  CHECK(check_second_gradient(self, {slice(projected, 1, 0, 4)}));
  CHECK_THROWS_WITH(attention(q, q, q, {.dropout = 1, .random = &random}), Contains("[0, 1)"));
}

TEST_CASE("attention over many keys goes through them in blocks", "[attention]") {
  constexpr Index queries = 140, keys = 1100;  // two blocks of queries, three of keys
  Random random(15);
  const Tensor q = random.normal({1, queries, 6}), v = random.normal({1, keys, 6});
  // Scores grow with the position, so that the greatest one so far changes from block to block.
  Tensor k = random.normal({1, keys, 6}) *
             reshape(arange(static_cast<double>(keys)) * (4.0 / keys), {1, keys, 1});
  Tensor mask = random.bernoulli({1, 1, queries, keys}, 0.9);
  const auto hide = [&](Index query, Index begin, Index end) {
    std::fill_n(mask.mutable_data() + query * keys + begin, end - begin, real{0});
  };
  hide(3, 0, 600);
  hide(4, 500, 1100);
  hide(5, 0, keys);
  Random drawn(3);
  const auto agrees = [&](const AttentionOptions& options, const Tensor& query) {
    const auto f = [&](const std::vector<Tensor>& in) {
      drawn = Random(3);
      return attention(in[0], in[1], in[2], options);
    };
    const std::vector<Tensor> inputs{query, k, v};
    const Tensor value = f(inputs);
    const Tensor seed = random.normal(value.shape());
    const std::vector<Tensor> gradients = vjp(f, inputs, seed);
    const Composite readable;
    const std::vector<Tensor> expected = vjp(f, inputs, seed);
    CHECK(relative_error(value, f(inputs)) < golden_tolerance);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      CHECK(relative_error(gradients[i], expected[i]) < golden_tolerance);
    return value;
  };
  agrees({.heads = 2}, q);
  agrees({.heads = 2, .causal = true}, q);
  agrees({.heads = 2, .mask = mask, .bias = random.normal({2, queries, keys})}, q);
  agrees({.heads = 2, .causal = true, .mask = mask, .dropout = 0.3, .random = &drawn}, q);
  const Tensor one = slice(q, 1, 4, 5), hidden_from_one = slice(mask, 2, 4, 5);
  agrees({.heads = 2}, one);
  agrees({.heads = 3, .causal = true, .mask = hidden_from_one}, one);
  agrees({.heads = 2, .bias = random.normal({2, 1, keys}), .dropout = 0.3, .random = &drawn}, one);
  // The first queries see no key, others only the first blocks.
  agrees({.heads = 2, .causal = true}, random.normal({1, keys + 200, 6}));
  const Tensor value = agrees({.heads = 2, .mask = mask}, q);
  CHECK(norm(slice(value, 1, 5, 6)).item() == 0);

  k.mutable_data()[7 * 6] = no_number;  // of the first head
  const Tensor y = attention(q, k, v, {.heads = 2});
  CHECK(std::isnan(y.data()[0]));
  CHECK(std::isfinite(y.data()[5]));
}

TEST_CASE("a single query gets the same bits alone and beside others", "[attention]") {
  Random random(18);
  const Index heads = 3, width = heads * 19;  // a head has whole vectors and a rest
  // With the most keys, each head of the sequence alone is a task.
  for (const Index keys : {1, 7, 8, 400, 3500}) {
    const std::vector<Tensor> inputs{random.normal({2, 1, width}), random.normal({2, keys, width}),
                                     random.normal({2, keys, width})};
    const auto attended = [&](Index first, Index last) {
      const auto part = [&](const Tensor& x) { return slice(x, 0, first, last); };
      return attention(part(inputs[0]), part(inputs[1]), part(inputs[2]), {.heads = heads});
    };
    const Tensor both = attended(0, 2);
    CHECK(distance(both, concat({attended(0, 1), attended(1, 2)}, 0)) == 0);
    const Composite readable;
    CHECK(relative_error(both, attended(0, 2)) < golden_tolerance);
  }
}

TEST_CASE("causal attention of any length leaves out the keys that no query sees", "[attention]") {
  Random random(16), drawn(3);
  for (const Index length : {1, 31, 32, 33, 64, 127, 128, 129, 160, 290, 385})
    for (const double rate : {0.0, 0.3}) {
      INFO("length " << length << ", dropout " << rate);
      const std::vector<Tensor> inputs{random.normal({2, length, 12})};
      const Tensor seed = random.normal({2, length, 4});
      const auto f = [&](const std::vector<Tensor>& in) {
        drawn = Random(3);
        return self_attention(in[0],
                              {.heads = 2, .causal = true, .dropout = rate, .random = &drawn});
      };
      const Tensor value = f(inputs), gradient = vjp(f, inputs, seed)[0];
      const Composite readable;
      CHECK(relative_error(value, f(inputs)) < golden_tolerance);
      CHECK(relative_error(gradient, vjp(f, inputs, seed)[0]) < golden_tolerance);
    }
}

TEST_CASE("attention refuses what does not fit", "[attention]") {
  const Tensor x = zeros({2, 3, 6});
  CHECK_THROWS_WITH(attention(x, x, x, {.heads = 4}), Contains("4 heads do not divide 6"));
  CHECK_THROWS_AS(attention(x, zeros({1, 3, 6}), x), ShapeError);
  CHECK_THROWS_WITH(attention(x, x, x, {.mask = zeros({5, 5})}), Contains("broadcast"));
  CHECK_THROWS_WITH(attention(x, x, x, {.dropout = 0.1}), Contains("random"));
  CHECK_THROWS_AS(self_attention(zeros({2, 3, 7})), ShapeError);
  // a query that may see nothing, one key, no keys
  CHECK(norm(attention(ones({1, 2, 4}), ones({1, 2, 4}), ones({1, 2, 4}), {.mask = zeros({2, 2})}))
            .item() == 0);
  const Tensor v = Random(1).normal({1, 1, 4}), none = zeros({1, 0, 4});
  CHECK(relative_error(attention(v, v, v), v) < 1e-6);
  CHECK(norm(attention(v, none, none)).item() == 0);
}

TEST_CASE("attention reads no keys behind those that it is given", "[attention]") {
  Random random(1);
  const Tensor q = random.normal({2, 3, 4}), seed = random.normal({2, 3, 4});
  const auto with_room = [&](const Tensor& x) {
    return concat({x, full({2, 3, 4}, std::numeric_limits<double>::quiet_NaN())}, 1);
  };
  const std::vector<Tensor> inputs{q, random.normal({2, 5, 4}), random.normal({2, 5, 4})};
  for (const bool causal : {false, true}) {
    const auto all = [&](auto& in) { return attention(in[0], in[1], in[2], {.causal = causal}); };
    const auto first = [&](auto& in) {
      return attention(in[0], in[1], in[2], {.causal = causal, .keys = 5});
    };
    const std::vector<Tensor> roomy{q, with_room(inputs[1]), with_room(inputs[2])};
    CHECK(relative_error(first(roomy), all(inputs)) == 0);
    const std::vector<Tensor> found = vjp(first, roomy, seed), expected = vjp(all, inputs, seed);
    CHECK(relative_error(found[0], expected[0]) == 0);
    for (const int i : {1, 2}) {
      CHECK(relative_error(slice(found[i], 1, 0, 5), expected[i]) == 0);
      CHECK(norm(slice(found[i], 1, 5, 8)).item() == 0);
    }
  }
  CHECK_THROWS_WITH(attention(q, q, q, {.keys = 4}), Contains("attention: 4 keys of 3"));
  CHECK_THROWS_WITH(attention(q, q, q, {.keys = -1}), Contains("-1 keys"));
  CHECK_THROWS_WITH(self_attention(zeros({2, 3, 6}), {.keys = 2}), Contains("keys"));
}

TEST_CASE("attention does not depend on a common offset of its scores", "[ops]") {
  constexpr double tolerance = sizeof(real) == 8 ? 1e-12 : 2e-6;
  Random random(2);
  const Tensor q = zeros({1, 3, 4}), k = random.normal({1, 5, 4}), v = random.normal({1, 5, 4});
  const Tensor bias = arange(15).view({1, 1, 3, 5}) * 0.25;  // exact beside the offsets below
  for (const bool readable : {false, true}) {
    const auto gradients = [&](double offset) {
      const Composite choice(readable);
      const Tape tape;
      const std::vector<Tensor> leaves{watch(q), watch(k), watch(v)};
      const Tensor y = attention(leaves[0], leaves[1], leaves[2], {.bias = bias + offset});
      std::vector<Tensor> found = grad(sum(square(y)), leaves);
      found.push_back(detach(y));
      return found;
    };
    const std::vector<Tensor> near = gradients(0);
    for (const double offset : {1e3, -1e5, 1e6}) {
      const std::vector<Tensor> far = gradients(offset);
      for (std::size_t i = 0; i < near.size(); ++i) CHECK(distance(near[i], far[i]) < tolerance);
    }
  }
}

TEST_CASE("a query whose bias is -inf for every key gets 0 on every path", "[ops]") {
  Random random(8);
  const Tensor q = random.normal({1, 2, 4}), k = random.normal({1, 3, 4});
  const Tensor hidden = where(Tensor({2, 3}, {1, 1, 1, 0, 1, 0}), -infinity, 0.0);
  const Tensor seen = where(less(hidden, 0.0), 0.0, 1.0);
  struct Found {
    Tensor y;
    std::vector<Tensor> gradients;
  };
  const auto found = [&](bool differentiated, bool causal, bool by_mask) {
    const Tape tape;
    const std::vector<Tensor> in{watch(q), watch(k), watch(zeros({2, 3}))};
    const Tensor bias = differentiated ? in[2] + (by_mask ? zeros({2, 3}) : hidden) : hidden;
    AttentionOptions options{.causal = causal};
    if (by_mask) options.mask = seen;
    if (!by_mask || differentiated) options.bias = bias;
    const Tensor y = attention(in[0], in[1], in[1], options);
    return Found{detach(y), grad(sum(square(y)), in)};
  };
  for (const bool readable : {false, true})
    for (const bool differentiated : {false, true})
      for (const bool causal : {false, true}) {
        const Composite choice(readable);
        const Found by_bias = found(differentiated, causal, false);
        const Found by_mask = found(differentiated, causal, true);
        for (Index i = 0; i < 4; ++i) CHECK(by_bias.y.data()[i] == 0);
        CHECK(distance(by_bias.y, by_mask.y) < 1e-6);
        for (std::size_t i = 0; i < 3; ++i)
          CHECK(distance(by_bias.gradients[i], by_mask.gradients[i]) < 1e-6);
      }
}

TEST_CASE("a NaN in the values of a hidden key reaches the result, as 0 times NaN", "[attention]") {
  Random random(9);
  const Tensor q = random.normal({1, 2, 4}), k = random.normal({1, 3, 4});
  Tensor v = random.normal({1, 3, 4});
  v.mutable_data()[2 * 4] = std::nan("");
  const Tensor seen({3}, {1, 1, 0}), hidden({3}, {0, 0, -infinity});
  const auto check = [&](const AttentionOptions& options) {
    for (const bool readable : {false, true}) {
      const Composite choice(readable);
      const Tensor y = attention(q, k, v, options);
      for (Index i = 0; i < y.size(); ++i) CHECK(std::isnan(y.data()[i]) == (i % 4 == 0));
    }
  };
  check({.mask = seen});
  check({.bias = hidden});
}

TEST_CASE("a NaN in a hidden key does not reach the result", "[attention]") {
  Random random(10);
  const Tensor q = random.normal({1, 2, 4}), v = random.normal({1, 3, 4});
  Tensor k = random.normal({1, 3, 4});
  const Tensor seen({3}, {1, 1, 0}), bias({3}, {0, 0, -infinity});
  const Tensor expected = attention(q, k, v, {.mask = seen});
  k.mutable_data()[2 * 4] = std::nan("");
  for (const bool readable : {false, true}) {
    const Composite choice(readable);
    CHECK(distance(attention(q, k, v, {.mask = seen}), expected) < 1e-6);
    CHECK(distance(attention(q, k, v, {.bias = bias}), expected) < 1e-6);
  }
}
