#include <algorithm>
#include <cmath>

#include "inspect/trace_nets.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::testing {

Trace modules(const Trace& step) {
  Trace found{.framework = "modules", .precision = step.precision, .instruction_set = ""};
  std::vector<std::vector<Index>> nearest(step.values.size());  // positions in `found`
  for (std::size_t i = 0; i < step.values.size(); ++i) {
    TracedValue value = step.values[i];
    std::vector<Index> inputs;
    for (const Index input : value.inputs)
      for (const Index near :
           input < 0 ? std::vector<Index>{-1} : nearest[static_cast<std::size_t>(input)])
        if (std::count(inputs.begin(), inputs.end(), near) == 0) inputs.push_back(near);
    const bool leaf = value.inputs.empty() || value.operation == "parameter";
    nearest[i] = inputs;
    if (!leaf && value.name == value.operation) continue;
    nearest[i] = {std::ssize(found.values)};
    value.inputs = inputs;
    if (!leaf) value.operation = "module";
    found.values.push_back(value);
  }
  return found;
}

Tensor block_net(PortedStep& is) {
  const Index length = 7, channels = 8;
  const auto applied = [&](const std::string& name, const Tensor& x, const std::string& weights) {
    const Tensor w = is(weights + ".weight", {channels, channels}, 0.5),
                 b = is(weights + ".bias", {channels});
    return named(
        is("weight of " + name + " transposed") ? linear(x, transpose(w), b) : linear(x, w, b),
        name);
  };
  const Tensor x = named(applied("in", Random(1).normal({2, length, channels}), "in") * 0.01, "x");
  const Tensor gain = is("norm.weight", {channels}), bias = is("norm.bias", {channels});
  NormOptions how{.epsilon = 1e-5};
  if (is("epsilon outside of the root")) how.place = Epsilon::outside_root;
  if (is("another epsilon")) how.epsilon = 1e-6;
  if (is("unbiased variance of a norm")) how.variance = Variance::unbiased;
  Tensor n;
  if (is("rms for layer norm"))
    n = rms_norm(x, how) * gain + bias;
  else if (is("norm over positions"))
    n = transpose(layer_norm(transpose(x))) * gain + bias;
  else
    n = affine_norm(x, both({.axes = {-1}}), gain, bias, how);
  n = named(n, "norm");
  const Tensor q = applied("q", n, "q"), v = applied("v", n, "v");
  const Tensor k = applied("k", is("keys made from values") ? v : n,
                           is("keys with the weights of values") ? "v" : "k");
  Tensor a = named(attention(q, k, v), "context");
  Random random(1);
  if (is("dropout left on")) a = dropout(a, 0.25, random);
  if (is("activation more")) a = relu(a);
  const Tensor o = applied("out", a, "out");
  const Tensor h = named(is("residual from the norm") ? n + o : x + o, "residual");
  return mean_of(square(h));
}

Tensor picture_net(PortedStep& is) {
  const Tensor gain = is("norm.weight", {6, 1, 1}), shift = is("norm.bias", {6, 1, 1});
  const auto kernel = [&](const std::string& name, Index channels) {
    return is(name + ".weight", {6, channels, 3, 3}, 0.3);
  };
  const auto bias = [&](const std::string& name) { return is(name + ".bias", {6, 1, 1}); };
  const auto wide = [](const Tensor& z, int axis, Index from) {  // by one slice at each end
    return concat({slice(z, axis, from, from + 1), z, slice(z, axis, 9 - from, 10 - from)}, axis);
  };
  const Tensor image = Random(1).normal({2, 3, 10, 10});
  const Tensor x = is("padding of the first by repetition")
                       ? conv2d(wide(wide(image, 2, 0), 3, 0), kernel("first", 3))
                       : conv2d(image, kernel("first", 3), {.padding = 1});
  const Tensor first = named(relu(x + bias("first")), "first");
  Tensor w = kernel("second", 6), y;
  if (is("kernel turned around")) w = flip(w, {2, 3});
  if (is("height and width of a kernel exchanged")) w = transpose(w);
  if (is("reflecting padding"))
    y = conv2d(wide(wide(first, 2, 1), 3, 1), w);
  else
    y = conv2d(first, w, {.padding = is("padding forgotten") ? 0 : 1});
  const Tensor second = named(y + bias("second"), "second");
  const Axes axes{0, 2, 3};
  const Tensor centered = second - mean(second, axes, Keep::yes),
               v = mean(square(centered), axes, Keep::yes);
  Tensor normal = centered / (is("epsilon of a batch outside") ? sqrt(v) + 1e-3 : sqrt(v + 1e-3));
  normal = named(relu(normal * gain + shift), "norm");
  if (is("sum for mean")) return mean_of(square(named(sum(normal, {2, 3}), "pooled")));
  if (is("image read by columns")) normal = transpose(normal);
  Tensor flat = named(reshape(normal, {2, -1}), "flat");
  const Tensor pooled = named(mean(normal, {2, 3}), "pooled");
  return named(mean(square(pooled)) + mean(square(matmul(flat, is("out", {flat.shape()[-1], 3})))),
               "loss");
}

// A step of Adam as operations, with weight decay.
Tensor adam_net(PortedStep& is) {
  const Index rows = 4, columns = 3;
  const Shape shape{rows, columns};
  const Tensor p = is("p", shape), g = is("g", shape, 0.1), m = is("m", shape, 0.1),
               v = square(is("root of v", shape, 0.1));
  const double b1 = is("betas exchanged") ? 0.99 : 0.9, b2 = is("betas exchanged") ? 0.9 : 0.99;
  const Tensor slope = is("decay in the gradient") ? g + 0.01 * p : g + 0.0;
  // Compilers order the operands of a sum differently, so one has a statement of its own.
  const Tensor first = (1 - b1) * slope;
  const Tensor m_new = named(b1 * m + first, "m_new");
  const Tensor second = (1 - b2) * (is("square missing") ? abs(slope) : square(slope));
  const Tensor v_new = named(b2 * v + second, "v_new");
  const double steps = is("counted from 0") ? 4 : 5;
  const Tensor m_hat = named(is("no correction") ? m_new + 0.0 : m_new / (1 - std::pow(b1, steps)),
                             "m_hat"),
               v_hat = named(v_new / (1 - std::pow(b2, steps)), "v_hat");
  const double epsilon = 1e-3;
  Tensor divisor = is("epsilon in the root") ? sqrt(v_hat + epsilon) : sqrt(v_hat) + epsilon;
  if (is("root missing")) divisor = v_hat + epsilon;
  const Tensor update = named(m_hat / divisor, "update");
  const Tensor decayed = is("decay without the rate") ? 0.99 * p : (1 - 0.01 * 0.1) * p;
  return named(sum(named(is("ascent") ? decayed + 0.1 * update : decayed - 0.1 * update, "p_new")),
               "loss");
}

}  // namespace tapegrad::testing
