#include <catch2/catch.hpp>

#include "tapegrad/models/conv_net.h"
#include "tapegrad/models/mlp.h"
#include "tapegrad/nn/dropout.h"
#include "tapegrad/nn/embedding.h"
#include "tapegrad/nn/linear.h"
#include "tapegrad/nn/sequential.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;

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

TEST_CASE("vectors, optionals and layers chosen at run time are walked", "[nn]") {
  Random random(1);
  const Sequential net{Linear(4, 5, random), Norm("layer", 5),
                       [](const Tensor& x) { return relu(x); }, Dropout{0.5},
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

TEST_CASE("dropout acts in training only, through containers", "[nn]") {
  Random random(1);
  const Sequential net{Dropout{0.5}};
  const Tensor x = ones({1000});
  CHECK(sum(net(x)).item() == 1000);
  CHECK(min(net(x, training(random))).item() == 0);
}

TEST_CASE("layers have right derivatives of their input, first and second", "[nn]") {
  Random random(2);
  const Function linear = [](const std::vector<Tensor>& in) {
    Random fresh(1);
    Linear layer(3, 2, fresh);
    return layer(in[0]);
  };
  const Tensor x = random.normal({4, 3});
  CHECK(check_gradient(linear, {x}));
  CHECK(check_second_gradient(linear, {x}));
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

TEST_CASE("an embedding layer looks up its rows", "[nn]") {
  Random random(3);
  const Embedding embed(5, 2, random);
  const Tensor y = embed(Indices({3}, {4, 0, 4}));
  CHECK(y.shape() == Shape{3, 2});
  CHECK(y.data()[0] == embed.weight.value().data()[8]);
  const Tape tape;
  const Tensor dw = grad(sum(embed(Indices({3}, {4, 0, 4}))), std::vector{embed.weight})[0];
  CHECK(dw.data()[8] == 2);
  CHECK(dw.data()[0] == 1);
  CHECK(dw.data()[2] == 0);
}
