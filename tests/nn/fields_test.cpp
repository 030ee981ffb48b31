#include <catch2/catch.hpp>
#include <functional>

#include "tapegrad/core/error.h"
#include "tapegrad/models/conv_net.h"
#include "tapegrad/models/mlp.h"
#include "tapegrad/nn/layers/dropout.h"
#include "tapegrad/nn/layers/embedding.h"
#include "tapegrad/nn/layers/linear.h"
#include "tapegrad/nn/layers/sequential.h"
#include "tapegrad/nn/optimizers/optimizer.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/recompute.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using Catch::Contains;

namespace {

struct Tied {
  Linear first, second;
  Buffer seen{zeros({2})};
  explicit Tied(Random& random) : first(3, 3, random), second(3, 3, random) {
    second.weight = first.weight;
  }
  Tensor operator()(const Tensor& x) const { return second(relu(first(x))); }
  void visit(Fields& field) const {
    field("first", first);
    field("second", second);
    field("seen", seen);
  }
};

// A struct whose `visit` is a function.
struct Visited {
  std::function<void(Fields&)> walk;
  void visit(Fields& field) const { walk(field); }
};

std::vector<std::string> names(const Fields& found) {
  std::vector<std::string> list;
  for (const auto& [name, parameter] : found.parameters()) list.push_back(name);
  return list;
}

}  // namespace

TEST_CASE("a walk finds every slot once, under its first name", "[nn]") {
  Random random(1);
  const Tied net(random);
  CHECK(names(fields(net)) ==
        std::vector<std::string>{"first.weight", "first.bias", "second.bias"});
  CHECK(fields(net).buffers().at(0).name == "seen");
  CHECK(parameter_count(net) == 9 + 3 + 3);
  CHECK(parameters(net)[0].name() == "first.weight");
  // A shared slot gets the gradient of both uses.
  const Tape tape;
  const Tensor y = sum(net(ones({1, 3})));
  CHECK(grad(y, parameters(net)).size() == 3);
}

TEST_CASE("a walk reports which slots it has found again", "[nn]") {
  Random random(1);
  const auto pairs = [](const Fields& found) {
    std::vector<std::pair<std::string, std::string>> list;
    for (const auto& [name, first] : found.shared()) list.emplace_back(name, first);
    return list;
  };
  const Linear layer(2, 2, random);
  const Visited copies{[&](Fields& field) {
    field("copies", std::vector<Linear>(3, layer));
    field("copies", std::vector<Linear>(1, layer));  // under the same names
  }};
  CHECK(pairs(fields(copies)) ==
        std::vector<std::pair<std::string, std::string>>{{"copies.1.weight", "copies.0.weight"},
                                                         {"copies.1.bias", "copies.0.bias"},
                                                         {"copies.2.weight", "copies.0.weight"},
                                                         {"copies.2.bias", "copies.0.bias"}});
  const Buffer buffer(zeros({1}));
  CHECK(pairs(fields(Visited{[&](Fields& field) {
          field("a", buffer);
          field("b", buffer);
        }})) == std::vector<std::pair<std::string, std::string>>{{"b", "a"}});
  CHECK(fields(layer).shared().empty());
}

TEST_CASE("two fields under one name are refused, whatever they are", "[nn]") {
  const Parameter matrix(zeros({3, 4})), row(zeros({5}));
  const Buffer buffer(zeros({2}));
  const auto refused = [](const std::function<void(Fields&)>& walk) {
    try {
      fields(Visited{walk});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused([&](Fields& field) {
          field("w", matrix);
          field("w", row);
        }) ==
        "visit: two fields are called w: a parameter of shape (3, 4) and a parameter of shape (5); "
        "give each its own name");
  CHECK_THAT(refused([&](Fields& field) {
               field("w", buffer);
               field("w", row);
             }),
             Contains("a buffer of shape (2) and a parameter of shape (5)"));
  CHECK_THAT(refused([&](Fields& field) {
               field("b", buffer);
               field("b", Buffer(zeros({1})));
             }),
             Contains("two fields are called b"));
  CHECK_THROWS_AS(clone(Visited{[&](Fields& field) {
                    field("w", matrix);
                    field("w", row);
                  }}),
                  Error);
  // Different nesting gives the same path; the second name of a slot is taken, too.
  CHECK_THAT(refused([&](Fields& field) {
               field("a.b", matrix);
               field("a", Visited{[&](Fields& inner) { inner("b", row); }});
             }),
             Contains("called a.b"));
  CHECK_THAT(refused([&](Fields& field) {
               field("list.0", matrix);
               field("list", std::vector<Parameter>{row});
             }),
             Contains("called list.0"));
  CHECK_THAT(refused([&](Fields& field) {
               field("first", matrix);
               field("second", matrix);
               field("second", row);
             }),
             Contains("called second"));
  const Norm norm("layer_simple", 3), other_norm("layer_simple", 3);
  CHECK_THAT(refused([&](Fields& field) {
               field("norm", norm);
               field("norm", other_norm);
             }),
             Contains("two norms are called norm"));
  CHECK(refused([&](Fields& field) {
          field("w", matrix);
          field("w", matrix);  // one slot after all
          field("again", matrix);
          field("empty", Parameter());
          field("empty", Parameter());
        }) == "");
}

TEST_CASE("a parameter that visit does not list is found on the tape", "[nn]") {
  const Parameter listed(ones({2, 3})), forgotten(ones({3, 4})), named(ones({4}), "shift");
  const Visited net{[&](Fields& field) { field("listed", listed); }};
  const Tape tape;
  sum(matmul(listed, ones({3, 1})));
  CHECK_NOTHROW(expect_listed(tape, fields(net)));
  const int line = __LINE__ + 1;
  const Tensor y = matmul(matmul(listed, forgotten), ones({4, 4})) + named;
  CHECK_THROWS_WITH(
      expect_listed(tape, fields(net)),
      Contains(fmt::format("the parameter of shape (3, 4) that matmul at fields_test.cpp:{} reads",
                           line)) &&
          Contains("the parameter shift of shape (4) that add at"));
  CHECK(tape.parameters().size() == 3);
  CHECK(tape.parameters()[0].identity() == listed.identity());
}

TEST_CASE("a parameter that visit does not list is found where it is recomputed", "[nn]") {
  const Parameter listed(ones({2, 3})), forgotten(ones({3, 4}));
  const Tape tape;
  const Tensor y =
      recompute([&](const std::vector<Tensor>& in) { return matmul(in[0], forgotten); }, {listed});
  CHECK_THROWS_WITH(
      expect_listed(tape, fields(Visited{[&](Fields& field) { field("listed", listed); }})),
      Contains("the parameter of shape (3, 4) that recompute at fields_test.cpp"));
}

TEST_CASE("parameters that no gradient reaches are named", "[nn]") {
  const Parameter used(ones({2})), detached(ones({2})), paused(ones({2})), unused(ones({2})),
      elsewhere(ones({2})), recomputed(ones({2}));
  const Visited net{[&](Fields& field) {
    field("used", used);
    field("detached", detached);
    field("paused", paused);
    field("unused", unused);
    field("elsewhere", elsewhere);
    field("recomputed", recomputed);
  }};
  const Tape tape;
  const auto half = [&](const std::vector<Tensor>& in) { return in[0] * recomputed; };
  const Tensor x = [&] {
    const NoGrad off;
    return paused + 1.0;
  }();
  CHECK(unreached(tape, x, fields(net)).size() == 6);
  const Tensor y = sum(x * tanh(used) * detach(exp(detached)) + recompute(half, {used}));
  sum(elsewhere * used);
  CHECK(unreached(tape, y, fields(net)) ==
        std::vector<std::string>{"detached", "paused", "unused", "elsewhere"});
}

TEST_CASE("vectors, optionals and layers chosen at run time are walked", "[nn]") {
  Random random(1);
  const Sequential net{Linear(4, 5, random), Norm("layer", 5), relu, Dropout{0.5},
                       Linear(5, 2, random, {.bias = false})};
  CHECK(names(fields(net)) == std::vector<std::string>{"layers.0.weight", "layers.0.bias",
                                                       "layers.1.gain", "layers.1.bias",
                                                       "layers.4.weight"});
  const ConvNet plain(random), normalized(random, {.hidden_norm = "layer"});
  CHECK(fields(normalized).parameters().size() == fields(plain).parameters().size() + 2);
}

TEST_CASE("a clone is independent, a copy is not", "[nn]") {
  Random random(1);
  Tied net(random);
  Tied copy = net, independent = clone(net);
  const real before = net.first.weight.value().data()[0];
  net.first.weight.mutable_data()[0] += 1;
  CHECK(copy.first.weight.value().data()[0] == net.first.weight.value().data()[0]);
  CHECK(independent.first.weight.value().data()[0] == before);
  CHECK(independent.second.weight.identity() == independent.first.weight.identity());
  CHECK(independent.seen.identity() != net.seen.identity());
  const Sequential sequential{Linear(3, 3, random)};
  const Sequential other = clone(sequential);
  CHECK(parameters(other)[0].identity() != parameters(sequential)[0].identity());
}

TEST_CASE("gradients of parameters agree with differences", "[nn]") {
  if (sizeof(real) == 4) return;  // a step that single precision resolves crosses kinks of ReLU
  Random random(3);
  const ConvNet conv(random, {.hidden_norm = "layer"});
  const Mlp mlp({784, 16, 10}, random, {.norm = "layer"});
  const Tensor x = random.uniform({2, 1, 28, 28});
  const Tensor u = random.normal({2, 10});
  const auto check = [&](const auto& net) {
    const std::vector<Parameter> slots = parameters(net);
    std::vector<Tensor> gradients;
    {
      const Tape tape;
      gradients = grad(sum(net(x) * u), slots);
    }
    const double step = 1e-6;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      Parameter slot = slots[i];
      const Index at = slot.shape().size() / 2;
      const real original = slot.value().data()[at];
      const auto value = [&](double moved) {
        slot.mutable_data()[at] = static_cast<real>(original + moved);
        return static_cast<double>(sum(net(x) * u).item());
      };
      const double expected = (value(step) - value(-step)) / (2 * step);
      slot.mutable_data()[at] = original;
      INFO(slot.name());
      CHECK(gradients[i].data()[at] == Approx(expected).epsilon(1e-5).margin(1e-7));
    }
  };
  check(conv);
  check(mlp);
}

TEST_CASE("parameters are chosen by name, and the others stay frozen", "[nn]") {
  Random random(1);
  const Mlp net({4, 8, 3}, random);
  const auto of_last = [](const std::string& name) { return !name.starts_with("layers.0."); };
  const std::vector<Parameter> all = parameters(net), last = parameters(net, of_last);
  REQUIRE(last.size() == 2);
  CHECK(last[0].shape() == Shape{8, 3});
  CHECK_THROWS_WITH(parameters(net, [](const std::string&) { return false; }),
                    "parameters: none of 4 names is chosen: layers.0.weight, layers.0.bias, "
                    "layers.2.weight, layers.2.bias");
  CHECK_THROWS_WITH(parameters(net, nullptr), "parameters: the function is empty");

  const Tensor frozen = all[0].value(), before = last[0].value();
  Sgd sgd(last, {.learning_rate = 1});
  const Tape tape;
  sgd.step(grad(sum(square(net(ones({2, 4})))), sgd.parameters()));
  CHECK(all[0].value().data() == frozen.data());
  CHECK(last[0].value().data()[0] != before.data()[0]);
}
