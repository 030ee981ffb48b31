#include "inspect/trace_nets.h"

#include <cmath>

#include "tapegrad/tapegrad.h"

namespace tapegrad::testing {

Tensor data(const std::string& name, const Shape& shape) {
  return named(watch(Random(7).normal(shape)), name);
}

Tensor mean_of(const Tensor& losses) { return named(mean(losses), "loss"); }

Parameter PortedStep::parameter(const std::string& name, const Shape& shape, double deviation) {
  const auto [found, is_new] = parameters_.try_emplace(name);
  std::uint64_t seed = 1;
  for (const char c : name) seed = 31 * seed + static_cast<unsigned char>(c);
  if (is_new) found->second = Parameter(Random(seed).normal(shape, 0, deviation));
  return found->second;
}

Trace ported(PortedNet net, std::string_view fault) {
  const Tape tape({.keep_values = true});
  PortedStep step(fault);
  const Tensor loss = net(step);
  grad(loss, parameters(step));
  return trace(tape, fields(step));
}

Tensor norm_net(PortedStep& is) {
  const Tensor x = is("x", {4, 6}, 0.1), gain = is("gain", {6}), bias = is("bias", {6});
  Tensor mu = is("mean over the batch") ? mean(x, 0, Keep::yes)
              : is("mean of all")       ? mean(x)
                                        : mean(x, -1, Keep::yes);
  mu = named(mu, "mu");
  if (is("detached mean")) mu = detach(mu);
  const Tensor centered = named(is("mean not subtracted") ? x + 0.0 : x - mu, "centered");
  Tensor variance;
  if (is("unbiased variance"))
    variance = sum(square(centered), -1, Keep::yes) / 5.0;
  else if (is("sum of squares"))
    variance = sum(square(centered), -1, Keep::yes);
  else if (is("deviation by absolute values"))
    variance = mean(abs(centered), -1, Keep::yes);
  else
    variance = mean(square(centered), -1, Keep::yes);
  variance = named(variance, "variance");
  const double epsilon = is("larger epsilon") ? 1e-3 : is("no epsilon") ? 0 : 1e-5;
  Tensor s;
  if (is("epsilon outside"))
    s = sqrt(variance) + 1e-5;
  else if (is("no root"))
    s = variance + epsilon;
  else
    s = sqrt(variance + epsilon);
  if (is("epsilon twice")) s = s + 1e-5;
  s = named(s, "s");
  if (is("detached deviation")) s = detach(s);
  const Tensor y = named(is("divided by the variance") ? centered / (variance + epsilon)
                         : is("multiplied")            ? centered * s
                                                       : centered / s,
                         "y");
  Tensor out;
  if (is("gain missing"))
    out = y + bias;
  else if (is("gain around zero"))
    out = y * (1.0 + gain) + bias;
  else if (is("bias missing"))
    out = y * gain;
  else if (is("bias subtracted"))
    out = y * gain - bias;
  else if (is("bias before gain"))
    out = (y + bias) * gain;
  else
    out = y * gain + bias;
  return mean_of(square(named(out, "out") - 1.0));
}

Tensor mlp_net(PortedStep& is) {
  const Tensor x = data("x", {5, 4});
  Parameter weight = is.parameter("w1", {4, 4});
  if (is("weight stored transposed")) weight.set(transpose(weight.value()));
  Tensor w1 = weight;
  if (is("frozen layer")) w1 = detach(w1);
  const Tensor b1 = is("b1", {4}), w2 = is("w2", {4, 3}), b2 = is("b2", {3});
  Tensor h;
  if (is("bias missing"))
    h = matmul(x, w1);
  else
    h = matmul(x, w1, {.b = is("weight used transposed")}) + b1;
  h = named(h, "h");
  Tensor a;
  if (is("no activation"))
    a = h + 0.0;
  else
    a = is("relu for tanh") ? relu(h) : is("sigmoid for tanh") ? sigmoid(h) : tanh(h);
  a = named(a, "a");
  if (is("detached hidden")) a = detach(a);
  Tensor logits = matmul(a, w2) + b2;
  if (is("activation after the last layer")) logits = tanh(logits);
  if (is("softmax twice")) logits = softmax(logits);
  if (is("temperature")) logits = logits / 0.7;
  logits = named(logits, "logits");
  const int axis = is("softmax over the batch") ? 0 : -1;
  Tensor log_p = log_softmax(logits, axis);
  if (is("base 2")) log_p = log_p / std::log(2.0);
  log_p = named(log_p, "log_p");
  const Index shift = is("labels off by one") ? 1 : 0;
  std::vector<Index> labels;
  for (const Index label : {0, 2, 1, 2, 0}) labels.push_back((label + shift) % 3);
  Tensor losses = pick(log_p, Indices({5}, labels));
  if (!is("opposite sign")) losses = -losses;
  losses = named(losses, "losses");
  Tensor loss;
  if (is("label smoothing"))
    loss = named(0.9 * mean(losses) - 0.1 * mean(log_p), "data_loss");
  else
    loss = named(is("sum of losses") ? sum(losses) : mean(losses), "data_loss");
  const double decay = is("decay without a half") ? 0.01 : 0.005;
  const Tensor penalty = named(decay * sum(square(w1)), "penalty");
  return named(is("penalty missing") ? loss + 0.0 : loss + penalty, "loss");
}

Tensor activation_net(PortedStep& is) {
  const Tensor h = named(is("h", {6, 5}) * 2.0, "h");
  Tensor a;
  if (is("gelu by tanh"))
    a = gelu_tanh(h);
  else if (is("silu"))
    a = silu(h);
  else if (is("relu"))
    a = relu(h);
  else if (is("leaky relu"))
    a = leaky_relu(h);
  else if (is("leaky relu of slope 0.2"))
    a = leaky_relu(h, 0.2);
  else if (is("elu"))
    a = elu(h);
  else if (is("softplus"))
    a = softplus(h);
  else if (is("absolute"))
    a = abs(h);
  else
    a = gelu(h);
  return mean_of(square(named(a, "a")));
}

Tensor conv_net(PortedStep& is) {
  Tensor pixels = abs(Random(5).normal({2, 3, 6, 6}));
  if (is("pixels to 255")) pixels = pixels * 255.0;
  if (is("blue first")) pixels = flip(pixels, 1);
  if (is("height and width swapped")) pixels = transpose(pixels);
  const Tensor x = named(watch(pixels), "x");
  Parameter weight = is.parameter("kernel", {4, 3, 3, 3}, 0.3);
  if (is("kernel turned")) weight.set(flip(weight.value(), {2, 3}));
  const Index padding = is("no padding") ? 0 : 1;
  const Tensor y =
      named(conv2d(x, weight, {.stride = is("stride 2") ? 2 : 1, .padding = padding}), "y");
  const Axes axes = is("statistics of each pixel")   ? Axes{0}
                    : is("statistics of each image") ? Axes{2, 3}
                                                     : Axes{0, 2, 3};
  Tensor mu = mean(y, axes, Keep::yes);
  if (is("running statistics")) mu = 0.1 * mu;
  mu = named(mu, "mu");
  const Variance kind = is("unbiased variance") ? Variance::unbiased : Variance::biased;
  const Tensor variance = named(var(y, axes, Keep::yes, kind), "variance");
  const double momentum = is("momentum the other way") ? 0.9 : 0.1;
  is.buffer("running_mean", momentum * detach(mu));
  is.buffer("running_var", detach(variance) * (is("running variance biased") ? 1.0 : 72.0 / 71.0));
  const double epsilon = is("another epsilon") ? 1e-3 : 1e-5;
  const Tensor s = named(sqrt(variance + epsilon), "s");
  const Tensor normal = named((y - mu) / s, "normal");
  const Tensor a = named(is("no relu") ? normal + 0.0 : relu(normal), "a");
  if (y.shape()[-1] % 2 != 0) return mean_of(square(a));
  const Tensor pooled = named(
      is("average pooling") ? avg_pool2d(a, {.size = 2}) : max_pool2d(a, {.size = 2}), "pooled");
  const Tensor flat = named(is("channels last") ? reshape(permute(pooled, {0, 2, 3, 1}), {2, -1})
                                                : reshape(pooled, {2, -1}),
                            "flat");
  return mean_of(square(matmul(flat, is("out", {flat.shape()[-1], 3}))));
}

Tensor embedding_net(PortedStep& is) {
  const Index shift = is("tokens from 1") ? 1 : 0;
  std::vector<Index> ids;
  for (const Index id : {3, 1, 4, 1, 0, 2, 6, 5, 0, 0}) ids.push_back((id + shift) % 7);
  const Tensor table = is("table", {7, 4});
  Tensor used;
  if (is("gradient twice"))
    used = 2.0 * table - detach(table);
  else
    used = table;
  Tensor rows = embedding(used, Indices({2, 5}, ids));
  const Tensor words = watch(Tensor({2, 5, 1}, {1, 1, 1, 1, 0, 1, 1, 1, 0, 0}));
  if (!is("padding not zero")) rows = rows * words;
  rows = named(rows, "rows");
  Tensor pooled;
  if (is("mean with padding"))
    pooled = mean(rows, 1);
  else if (is("sum of words"))
    pooled = sum(rows, 1);
  else if (is("maximum of words"))
    pooled = max(rows, 1);
  else if (is("last word"))
    pooled = select(rows, 4, 1);
  else
    pooled = sum(rows, 1) / sum(words, 1);
  const Tensor h = named(tanh(named(pooled, "pooled")), "h");
  Tensor output = table;
  if (is("tied weights cut")) {
    Parameter decode = is.parameter("decode", {7, 4});
    decode.set(is.parameter("table", {7, 4}).value());
    output = decode;
  }
  if (is("tied weights detached")) output = detach(table);
  const Tensor logits = named(matmul(h, output, {.b = true}), "logits");
  return mean_of(-pick(log_softmax(logits), Indices({2}, {2, 5})));
}

Tensor loss_net(PortedStep& is) {
  const Tensor x = named(is("x", {6, 3}) * 1.0, "prediction"), target = data("target", {6, 3});
  const Tensor error = named(is("error reversed") ? target - x : x - target, "error");
  Tensor squared;
  if (is("absolute error"))
    squared = abs(error);
  else
    squared = square(error);
  if (is("half of the square")) squared = 0.5 * squared;
  if (is("clipped error")) squared = clamp(squared, 0, 1);
  squared = named(squared, "squared");
  const Tensor log_variance = is("log_variance", {6, 3}, 0.3);
  Tensor sigma =
      named(exp(is("logarithm of the deviation") ? log_variance : 0.5 * log_variance), "sigma");
  Tensor nll = squared / square(sigma) * 0.5 + log(sigma);
  if (is("constant of the density")) nll = nll + 0.5 * std::log(2 * M_PI);
  nll = named(nll, "nll");
  const Tensor weight = named(watch(Tensor({3}, {1, 2, 0.5})), "class_weight");
  Tensor weighted;
  if (is("no class weights"))
    weighted = nll + 0.0;
  else
    weighted = nll * weight;
  weighted = named(weighted, "weighted");
  const Tensor present = watch(Tensor({6, 1}, {1, 1, 1, 0, 1, 0}));
  const Tensor counted =
      named(is("padding counts") ? weighted + 0.0 : weighted * present, "counted");
  Tensor rows = named(is("mean over channels") ? mean(counted, -1) : sum(counted, -1), "rows");
  Tensor loss;
  if (is("mean of what counts"))
    loss = sum(rows) / 4.0;
  else if (is("logarithm of the mean"))
    loss = log(mean(exp(rows)));
  else if (is("greatest row"))
    loss = max(rows);
  else
    loss = mean(rows);
  return named(loss, "loss");
}

}  // namespace tapegrad::testing
