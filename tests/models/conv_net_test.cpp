#include "tapegrad/models/conv_net.h"

#include <catch2/catch.hpp>

#include "models/nets.h"
#include "support/golden.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"

using namespace tapegrad;
using namespace tapegrad::testing;

TEST_CASE("the convolutional net is two convolutions and two linear layers", "[models]") {
  Random random(1);
  const ConvNet net(random);
  const Tensor x = random.uniform({3, 1, 28, 28});
  const auto convolution = [](const Tensor& in, const Conv2d& layer) {
    const Tensor bias = reshape(layer.bias, {layer.bias.shape()[0], 1, 1});
    return max_pool2d(relu(conv2d(in, layer.weight) + bias));
  };
  const Tensor images = convolution(convolution(x, net.first), net.second);
  CHECK(images.shape() == Shape{3, 50, 4, 4});
  const Tensor hidden = relu(linear(reshape(images, {3, 800}), net.hidden.weight, net.hidden.bias));
  const Tensor expected = linear(hidden, net.output.weight, net.output.bias);
  CHECK(expected.shape() == Shape{3, 10});
  CHECK(relative_error(net(x), expected) < golden_tolerance);
}

TEST_CASE("the norms of the convolutional net stand before each ReLU", "[models]") {
  Random random(2), mask(3);
  const ConvNet net(random, {.norm = "batch", .hidden_norm = "layer", .dropout = 0.5});
  std::vector<std::string> names;
  for (const NamedNorm& norm : fields(net).norms()) names.push_back(norm.name);
  CHECK(names == std::vector<std::string>{"first_norm", "second_norm", "hidden_norm"});
  const Tensor x = random.uniform({4, 1, 28, 28});
  const Tensor before = net(x);
  Parameter bias = net.first_norm.bias;
  bias.set(full(bias.shape(), -100));  // ReLU passes nothing on
  CHECK(relative_error(net(x), net(x * 3)) == 0);
  CHECK(relative_error(net(x), before) > 1e-3);
  CHECK(relative_error(net(x, training(mask)), net(x, training(mask))) > 1e-3);
}

TEST_CASE("derivatives of the convolutional net", "[models]") {
  Random random(4);
  const ConvNet net(random, {.hidden_norm = "layer"});
  CHECK(parameter_count(net) == (25 + 1) * 20 + (500 + 1) * 50 + (800 + 3) * 500 + (500 + 1) * 10);
  CHECK(fields(net).parameters().size() == 10);
  if (sizeof(real) == 4) return;  // a step that single precision resolves crosses kinks of ReLU
  const Tensor x = random.uniform({2, 1, 28, 28});
  constexpr double step = 1e-6;
  const CheckResult result =
      check_gradient([&](const auto& in) { return net(in[0]); }, {x}, {.step = step});
  INFO(result.message);
  CHECK(result);
  check_parameters(
      net, [&] { return net(x); }, step);
}
