#include "tapegrad/inspect/free_directions.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "inspect/weights.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

// "shift w.0, scale w.0 w.1": kinds and names.
std::string summary(const std::vector<FreeDirection>& found) {
  std::string text;
  for (const FreeDirection& one : found) {
    if (!text.empty()) text += ", ";
    text += one.kind == FreeKind::shift   ? "shift"
            : one.kind == FreeKind::scale ? "scale"
                                          : "exchange";
    for (const FreePart& part : one.parts) text += (part.inverse ? " /" : " ") + part.name;
  }
  return text;
}

}  // namespace

TEST_CASE("free directions of nets", "[free_directions]") {
  Random random(3);
  const Tensor x = random.normal({16, 6}, 0.3);
  const Indices labels({4}, {0, 1, 2, 3});
  const auto mlp = [&](const MlpOptions& options) { return Mlp({6, 8, 4}, random, options); };
  const auto of = [&](const Mlp& net) {
    return free_directions(fields(net), [&] {
      Random same(1);
      return squared_error(net(x, training(same)));
    });
  };
  SECTION("scales between ReLU layers, unit by unit") {
    const auto found = of(mlp({}));
    CHECK(summary(found) == "exchange layers.0.weight layers.0.bias /layers.2.weight");
    CHECK(found[0].parts[0].axes == std::vector<int>{1});
    CHECK(found[0].parts[2].axes == std::vector<int>{0});
    CHECK(found[0].parts[0].end == 8);
    CHECK_THAT(to_string(found[0]), Contains("undone by dividing layers.2.weight (8, 4), one for"));
  }
  SECTION("a GELU passes no scale on") {
    const Mlp net = mlp({.activation = gelu});
    CHECK(summary(of(net)).empty());
    CHECK_NOTHROW(expect_no_free_directions(fields(net), [&] { return squared_error(net(x)); }));
  }
  SECTION("a bias before layer normalization, whose gain and bias are seen") {
    const auto found = of(mlp({.norm = "layer", .activation = gelu}));
    CHECK(summary(found) ==
          "shift layers.0.weight, shift layers.0.bias, "
          "scale layers.0.weight layers.0.bias");
    CHECK(found[1].parts[0].axes.empty());
    CHECK(summary(of(mlp({.norm = "detach", .activation = gelu}))) == summary(found));
  }
  SECTION("a bias before batch normalization") {
    const auto found = of(mlp({.norm = "batch", .activation = gelu}));
    CHECK(summary(found) == "scale layers.0.weight, shift layers.0.bias");
    CHECK(found[1].parts[0].axes == std::vector<int>{0});
    CHECK_THAT(found[1].removed_by, Contains("batch_norm at "));
  }
  SECTION("a loss near zero, of which rounding is a large part") {
    for (int trial = 0; trial < 5; ++trial) {
      const Mlp net = mlp({.norm = "batch", .activation = gelu});
      const auto loss = [&] {
        Random same(1);
        return squared_error(net(x, training(same)));
      };
      const double first = loss().item();
      CHECK(summary(free_directions(fields(net), [&] { return loss() - first; })) ==
            "scale layers.0.weight, shift layers.0.bias");
    }
  }
  SECTION("one factor for each column of a weight and its bias") {
    const Weights net{{Parameter(random.normal({6, 8})), Parameter(random.normal({8}))}};
    const auto found = free_directions(fields(net), [&] {
      return squared_error(normalize(matmul(x, net.list[0]) + net.list[1],
                                     {.center = {}, .scale = {.axes = {0}}}, {.epsilon = 0}));
    });
    CHECK(summary(found) == "scale w.0 w.1");
    CHECK(found[0].parts[0].axes == std::vector<int>{1});
  }
  SECTION("normalized weights, whose gains and bias the next gains undo") {
    CHECK(summary(of(mlp({.norm = "weight"}))) ==
          "scale layers.0.weight, scale layers.2.weight, "
          "exchange layers.0.gain layers.0.bias /layers.2.gain");
  }
  SECTION("a gain and a bias whose scale the next layer undoes") {
    CHECK_THAT(summary(of(mlp({.norm = "layer"}))),
               Contains("exchange layers.1.gain layers.1.bias /layers.3.weight"));
  }
  SECTION("the common mode of a softmax") {
    const Linear net(6, 4, random);
    const auto found = free_directions(fields(net), [&] {
      return cross_entropy(net(Random(2).normal({4, 6})), labels);
    });
    CHECK(summary(found) == "shift weight, shift bias");
    CHECK(found[0].parts[0].axes == std::vector<int>{0});
    CHECK(found[1].parts[0].axes.empty());
    CHECK_THROWS_WITH(
        expect_no_free_directions(fields(net),
                                  [&] {
                                    return cross_entropy(net(Random(2).normal({4, 6})), labels);
                                  }),
        Contains("does not see 2:\n  numbers added to weight (6, 4), one for each "
                 "position of axis 0: the change ends at ") &&
            Contains("\n  a number added to all of bias (4): the change ends at "));
  }
}

TEST_CASE("free directions: residual connections", "[free_directions]") {
  Random random(4);
  const Tensor x = random.normal({9, 6});
  const Weights net{{Parameter(random.normal({6, 8})), Parameter(random.normal({8, 8})),
                     Parameter(random.normal({8, 3}))}};
  const auto& w = net.list;
  const auto with = [&](double residual) {
    return summary(free_directions(fields(net), [&] {
      const Tensor h = relu(matmul(x, w[0]));
      return squared_error(matmul(relu(matmul(h, w[1])) + residual * h, w[2]));
    }));
  };
  CHECK(with(0) == "exchange w.0 /w.1, exchange w.1 /w.2");
  CHECK(with(1) == "exchange w.0 /w.2");  // one factor for all units
  const auto before_norm = [&](double residual) {
    return summary(free_directions(fields(Weights{{w[0]}}), [&] {
      return squared_error(layer_norm(matmul(x, w[0]) + residual * pad(x, {{0, 0}, {0, 2}})));
    }));
  };
  CHECK(before_norm(0) == "shift w.0, scale w.0");
  CHECK(before_norm(1) == "shift w.0");
}

TEST_CASE("free directions of attention", "[free_directions]") {
  Random random(6);
  const Tensor x = random.normal({3, 5, 8}), memory = random.normal({3, 4, 8});
  SECTION("in one projection: the bias of the keys, queries and keys, values and outputs") {
    const SelfAttention net(8, random, {.heads = 2});
    const auto found = free_directions(fields(net), [&] { return squared_error(net(x)); });
    CHECK(summary(found) ==
          "shift projection.bias, exchange projection.weight projection.bias /projection.weight, "
          "exchange projection.weight projection.bias /output.weight");
    CHECK(found[0].parts[0].begin == 8);
    CHECK(found[0].parts[0].end == 16);
    CHECK_THAT(to_string(found[0]),
               Contains("for each of the positions 8 to 15 of axis 0: the change ends at "
                        "self_attention at free_directions_test.cpp:"));
  }
  SECTION("to another sequence") {
    const CrossAttention net(8, random, {.heads = 2});
    const auto found = free_directions(fields(net), [&] { return squared_error(net(x, memory)); });
    CHECK(summary(found) ==
          "shift key_value.bias, exchange query.weight query.bias /key_value.weight, "
          "exchange key_value.weight key_value.bias /output.weight");
    CHECK_THAT(found[0].removed_by, Contains("attention at ") && !Contains("slice"));
  }
  SECTION("rotated keys: their bias depends on the position") {
    const SelfAttention net(8, random, {.heads = 2, .rotary = true});
    const auto found = free_directions(fields(net), [&] { return squared_error(net(x)); });
    CHECK_FALSE(std::any_of(found.begin(), found.end(),
                            [](const FreeDirection& one) { return one.kind == FreeKind::shift; }));
  }
}

TEST_CASE("free directions of parts of parameters", "[free_directions]") {
  Random random(12);
  const Tensor x = random.normal({9, 6});
  SECTION("some elements of a vector, beside others that matter little") {
    const Weights net{{Parameter(random.normal({6, 4})), Parameter(random.normal({6}))}};
    const auto found = free_directions(fields(net), [&] {
      const Tensor y = x + net.list[1];
      return squared_error(matmul(x, net.list[0])) + 1e-3 * squared_error(slice(y, 1, 0, 3)) +
             squared_error(normalize(slice(y, 1, 3, 6), both(NormField{.axes = {0}})));
    });
    CHECK(summary(found) == "shift w.1");
    CHECK(found[0].parts[0].begin == 3);
    CHECK(found[0].parts[0].end == 6);
  }
  SECTION("elements that are not used") {
    const Weights net{{Parameter(random.normal({6}))}};
    const auto found = free_directions(
        fields(net), [&] { return squared_error(slice(x * net.list[0], 1, 0, 4)); });
    CHECK(summary(found) == "shift w.0");
    CHECK(found[0].parts[0].begin == 4);
    CHECK(found[0].removed_by == "a slice");
  }
  SECTION("operations that depend on values") {
    const Weights net{{Parameter(random.normal({6, 4}))}};
    const double first = norm(net.list[0]).item();
    const auto found = free_directions(fields(net), [&] {
      const Tensor w = net.list[0];
      return squared_error(layer_norm(matmul(x, norm(w).item() == first ? w : w * 1.0)));
    });
    CHECK(summary(found) == "shift w.0, scale w.0");
    CHECK_THAT(found[0].removed_by, Contains("not always the same"));
  }
  SECTION("what data of the sum zero do not see") {
    const Weights net{{Parameter(random.normal({6, 4}))}};
    const auto found = free_directions(
        fields(net), [&] { return squared_error(matmul(x - mean(x, 1, Keep::yes), net.list[0])); });
    CHECK(summary(found) == "shift w.0");
    CHECK(found[0].parts[0].axes == std::vector<int>{1});
    CHECK(found[0].removed_by.empty());
  }
  SECTION("halves that the next layer reads crosswise") {
    const Weights net{{Parameter(random.normal({6, 8})), Parameter(random.normal({8, 4}))}};
    const auto found = free_directions(fields(net), [&] {
      const Tensor h = relu(matmul(x, net.list[0])), &w = net.list[1];
      return squared_error(matmul(slice(h, 1, 0, 4), slice(w, 0, 4, 8)) +
                           matmul(slice(h, 1, 4, 8), slice(w, 0, 0, 4)));
    });
    CHECK(summary(found) == "exchange w.0 /w.1, exchange w.0 /w.1");
  }
}

TEST_CASE("free directions of a convolution before a norm", "[free_directions]") {
  Random random(8);
  const Tensor x = random.normal({3, 3, 6, 6}, 0.4);
  const Weights net{{Parameter(random.normal({4, 3, 3, 3}))}};
  const auto found = [&](const NormField& field) {
    return free_directions(fields(net), [&] {
      return squared_error(normalize(conv2d(x, net.list[0]), both(field), {.epsilon = 0}));
    });
  };
  const auto channels = found({.axes = {1}}), batch = found({.axes = {0, 2, 3}});
  CHECK(summary(channels) == "shift w.0, scale w.0");
  CHECK(channels[0].parts[0].axes == std::vector<int>{1, 2, 3});
  CHECK(channels[1].parts[0].axes.empty());
  CHECK(summary(batch) == "scale w.0");
  CHECK(batch[0].parts[0].axes == std::vector<int>{0});
}

TEST_CASE("free directions: not what does not matter by accident", "[free_directions]") {
  Random random(9);
  const Tensor x = random.normal({16, 6});
  const std::string expected = "exchange layers.0.weight layers.0.bias /layers.2.weight";
  const auto of = [&](const Mlp& net, const Tensor& batch) {
    return summary(free_directions(fields(net), [&] { return squared_error(net(batch)); }));
  };
  const auto with_bias = [&](const Tensor& bias) {
    const Mlp net({6, 8, 4}, random);
    parameters(net)[1].set(bias);
    return net;
  };
  Tensor one_dead = zeros({8}), one_zero = ones({1, 6});
  one_dead.mutable_data()[2] = -100;
  one_zero.mutable_data()[3] = 0;
  CHECK(of(with_bias(one_dead), x) == expected);
  CHECK(of(with_bias(full({8}, -100)), x) == expected);
  CHECK(of(with_bias(zeros({8})), x) == expected);
  CHECK(of(with_bias(ones({8})), x * one_zero) == expected);
  const Weights two{{Parameter(random.normal({6, 4})), Parameter(random.normal({6, 4}))}};
  CHECK(summary(free_directions(fields(two), [&] {
          return squared_error(matmul(zeros({16, 6}), two.list[0]) +
                               matmul(zeros({16, 6}), two.list[1]));
        })).empty());
  const Linear silent(6, 4, random);
  CHECK(summary(free_directions(fields(silent), [&] {
          return squared_error(silent(zeros({16, 6})));
        })).empty());
  // The parameters of `unreached` have no gradient.
  const Weights net{{Parameter(ones({6})), Parameter(ones({6})), Parameter(ones({6}))}};
  CHECK(summary(free_directions(fields(net), [&] {
          return squared_error(x * net.list[0] + layer_norm(detach(x * net.list[1])));
        })).empty());
}

TEST_CASE("free directions: a loss must be finite and always the same", "[free_directions]") {
  Random random(10);
  const Tensor x = random.normal({16, 6});
  const Mlp net({6, 8, 4}, random, {.dropout = 0.5});
  const auto loss = [&] { return squared_error(net(x, training(random))); };
  CHECK_THROWS_AS(free_directions(fields(net), loss), ArgumentError);
  CHECK_THROWS_WITH(free_directions(fields(net), loss),
                    Contains("at the same weights") && Contains("leave out dropout"));
  CHECK_NOTHROW(free_directions(fields(net), [&] { return squared_error(net(x)); }));
  CHECK_THROWS_WITH(free_directions(fields(net), [&] { return log(-sum(square(net(x)))); }),
                    Contains("the loss is ") && Contains("nan"));
  const Tape tape;
  CHECK_THROWS_AS(free_directions(fields(net), [&] { return squared_error(net(x)); }), TapeError);
}

TEST_CASE("free directions leave a net as it was", "[free_directions]") {
  Random random(11);
  const Tensor x = random.normal({16, 6});
  const Mlp net({6, 8, 4}, random, {.norm = "batch"});
  const auto bits = [&] {
    std::vector<real> all;
    const NetState state(fields(net));
    for (const Tensor& each : state.values())
      all.insert(all.end(), each.values().begin(), each.values().end());
    return all;
  };
  const auto before = bits();
  int calls = 0;
  const auto loss = [&](int last) {
    return [&, last] {
      if (++calls == last) fail<DataError>("no more data");
      Random same(1);
      return squared_error(net(x, training(same)));
    };
  };
  free_directions(fields(net), loss(-1));
  CHECK(calls > 100);
  CHECK(bits() == before);
  for (const int last : {1, 2, 3, 30, calls / 2, calls}) {
    calls = 0;
    CHECK_THROWS_AS(free_directions(fields(net), loss(last)), DataError);
    CHECK(bits() == before);
  }
}
