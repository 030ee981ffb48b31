#include <cmath>

#include "inspect/trace_nets.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::testing {

Tensor attention_net(PortedStep& is) {
  const Index length = 5, heads = 2, size = 3, channels = heads * size;
  const Tensor tokens = data("tokens", {length, channels});
  const Tensor embedded = named(
      is("embedding not scaled") ? tokens + 0.0 : tokens * std::sqrt(double(channels)), "embedded");
  const Tensor angles =
      reshape(arange(length) + (is("positions from 1") ? 1.0 : 0.0), {length, 1}) *
      Tensor({1, size}, {1, 0.3, 0.1});
  const std::vector<Tensor> waves{sin(angles), cos(angles)};
  Tensor positions =
      is("positions interleaved")
          ? reshape(stack(waves, -1), {length, channels})
          : concat({waves[is("cosine first") ? 1 : 0], waves[is("cosine first") ? 0 : 1]}, -1);
  positions = named(watch(positions), "positions");
  const Tensor x = named(is("no positions") ? embedded + 0.0 : embedded + positions, "x_in");
  const auto projected = [&](const std::string& name) {
    const Tensor y = matmul(x, is("w" + name, {channels, channels}, 0.5));
    return is("no bias of q") && name == "q" ? y : y + is("b" + name, {channels}, 0.5);
  };
  const Tensor q = named(projected("q"), "q"), k = named(projected("k"), "k");
  Tensor v;
  if (is("v from k"))
    v = k + 0.0;
  else
    v = projected("v");
  v = named(v, "v");
  const auto split_heads = [&](const Tensor& y) {  // (heads, T, size)
    return is("heads interleaved") ? permute(reshape(y, {length, size, heads}), {2, 0, 1})
                                   : permute(reshape(y, {length, heads, size}), {1, 0, 2});
  };
  const Tensor qh = named(split_heads(q), "q_heads"), kh = named(split_heads(k), "k_heads"),
               vh = named(split_heads(v), "v_heads");
  const Tensor scores = named(
      is("q and k swapped") ? matmul(kh, qh, {.b = true}) : matmul(qh, kh, {.b = true}), "scores");
  double divisor = std::sqrt(double(size));
  if (is("no scale")) divisor = 1;
  if (is("scale by all channels")) divisor = std::sqrt(double(channels));
  if (is("scale the other way")) divisor = 1 / divisor;
  const Tensor scaled = named(scores / divisor, "scaled");
  const Tensor allowed = tril(ones({length, length}), is("mask one off") ? 1 : 0);
  Tensor weights;
  if (is("mask after softmax")) {
    weights = where(allowed, softmax(scaled), 0.0);
  } else {
    const Tensor masked =
        named(is("no mask") ? scaled + 0.0 : where(allowed, scaled, -1e30), "masked");
    weights = softmax(masked, is("softmax over the queries") ? -2 : -1);
  }
  weights = named(weights, "weights");
  const Tensor kept = watch(
      Tensor({5, 5}, {1, 1, 1, 1, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1}));
  Tensor dropped;
  if (is("dropout at test time"))
    dropped = weights * kept / 0.75;
  else if (is("dropout without a scale"))
    dropped = weights * kept;
  else
    dropped = weights + 0.0;
  dropped = named(dropped, "dropped");
  const Tensor context = named(matmul(dropped, vh), "context");
  const Tensor merged =
      named(is("heads not merged") ? reshape(context, {length, channels})
                                   : reshape(permute(context, {1, 0, 2}), {length, channels}),
            "merged");
  Tensor out;
  if (is("no output projection"))
    out = merged + 0.0;
  else
    out = matmul(merged, is("wo", {channels, channels}));
  out = named(out, "out");
  return mean_of(square(named(is("no residual") ? out + 0.0 : out + x, "sum")));
}

Tensor lstm_net(PortedStep& is) {
  const Index steps = 4, batch = 2, hidden = 3;
  Tensor xs = Random(3).normal({steps, batch, 5});
  if (is("sequence reversed")) xs = flip(xs, 0);
  xs = named(watch(xs), "xs");
  Parameter weight = is.parameter("w", {5, 4 * hidden});
  if (is("weights of another gate order")) {
    const auto blocks = split(weight.value(), {3, 3, 3, 3}, -1);
    weight.set(concat({blocks[0], blocks[2], blocks[1], blocks[3]}, -1));
  }
  const Tensor u = is("u", {hidden, 4 * hidden}), b = is("b", {4 * hidden});
  Tensor h = zeros({batch, hidden}), c = h, total = 0.0;
  for (Index t = 0; t < steps; ++t) {
    const Tensor product =
        named(matmul(h, u) * (is("h not carried") && t > 0 ? 0.0 : 1.0), "product");
    Tensor gates = matmul(select(xs, t), weight) + product + b;
    if (is("bias twice")) gates = gates + b;
    const auto part = split(named(gates, "gates"), {3, 3, 3, 3}, -1);
    const bool other = is("gates read in another order");
    const Tensor f_in = named(part[other ? 2 : 1] + (is("forget bias") ? 1.0 : 0.0), "f_in"),
                 g_in = named(part[other ? 1 : 2] + 0.0, "g_in");
    const Tensor i = named(is("tanh for i") ? tanh(part[0]) : sigmoid(part[0]), "i");
    Tensor f = sigmoid(f_in);
    if (is("forgets the other way")) f = 1.0 - f;
    f = named(f, "f");
    const Tensor g = named(is("no tanh of g") ? g_in + 0.0 : tanh(g_in), "g");
    const Tensor o = named(is("no sigmoid of o") ? part[3] + 0.0 : sigmoid(part[3]), "o");
    const Tensor kept = named(f * (is("detached state") ? detach(c) : c), "kept");
    Tensor next;
    if (is("c not carried"))
      next = i * g;
    else if (is("coupled gates"))
      next = kept + (1.0 - f) * g;
    else
      next = kept + i * g;
    c = named(next, "c");
    const Tensor tc = named(is("no tanh of c") ? c + 0.0 : tanh(c), "tanh_c");
    h = named(is("o missing") ? tc + 0.0 : o * tc, "h");
    total = total + sum(square(is("c for h") ? named(c + 0.0, "read") : named(h + 0.0, "read")));
  }
  return named(total / (is("sum over steps") ? 1.0 : double(steps)), "loss");
}

Tensor gru_net(PortedStep& is) {
  const Index steps = 3, batch = 2, hidden = 4;
  const Tensor xs = data("xs", {steps, batch, 3});
  Parameter weight = is.parameter("w", {3, 3 * hidden});
  if (is("weights with z first")) {
    const auto blocks = split(weight.value(), {4, 4, 4}, -1);
    weight.set(concat({blocks[1], blocks[0], blocks[2]}, -1));
  }
  const Tensor u = is("u", {hidden, 3 * hidden}), b = is("b", {3 * hidden}), un = is("un", {4, 4});
  Tensor h = is("h0", {batch, hidden});
  for (Index t = 0; t < steps; ++t) {
    const auto in = split(matmul(select(xs, t), weight) + b, {4, 4, 4}, -1);
    const auto rec = split(matmul(h, u), {4, 4, 4}, -1);
    const Tensor r = named(sigmoid(in[0] + rec[0]), "r"), z = named(sigmoid(in[1] + rec[1]), "z");
    Tensor gated;
    if (is("reset before the product"))
      gated = matmul(r * h, un);
    else if (is("no reset"))
      gated = rec[2] + 0.0;
    else
      gated = r * rec[2];
    gated = named(gated, "gated");
    const Tensor n_in = named(is("reset of all") ? r * (in[2] + rec[2]) : in[2] + gated, "n_in");
    const Tensor n = named(is("sigmoid for n") ? sigmoid(n_in) : tanh(n_in), "n");
    Tensor next;
    if (is("z the other way"))
      next = z * n + (1.0 - z) * h;
    else if (is("no update gate"))
      next = n + 0.0;
    else
      next = (1.0 - z) * n + z * h;
    h = named(next, "h");
  }
  return mean_of(square(h));
}

}  // namespace tapegrad::testing
