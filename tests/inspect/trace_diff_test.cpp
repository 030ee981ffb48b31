#include "tapegrad/inspect/trace_diff.h"

#include <array>
#include <catch2/catch.hpp>
#include <map>

#include "inspect/trace_nets.h"
#include "support/scratch.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

struct PortingError {
  PortedNet net;
  const char* fault;
  const char* first;  // the name of what differs first; "gradient of x": of its gradient
  const char* guess;  // words of the guess; nullptr: none is expected
};

const PortingError errors[] = {
    // ---- Layer normalization ----
    {norm_net, "mean over the batch", "sum", "sum along axis 0"},
    {norm_net, "mean of all", "sum", "the sum of"},
    {norm_net, "mean not subtracted", "centered", " plus mu"},
    {norm_net, "unbiased variance", "variance", "unbiased variance"},
    {norm_net, "sum of squares", "variance", "a sum over 6"},
    {norm_net, "deviation by absolute values", "square", "abs of centered"},
    {norm_net, "larger epsilon", "add", "epsilon 0.001 rather than 1e-05"},
    {norm_net, "no epsilon", "add", "epsilon 0 rather than 1e-05"},
    {norm_net, "epsilon outside", "add", "outside of the root"},
    {norm_net, "epsilon twice", "s", "epsilon 1e-05 rather than 0"},
    {norm_net, "no root", "s", "square of A"},
    {norm_net, "detached mean", "gradient of mu", "detach"},
    {norm_net, "detached deviation", "gradient of s", "detach"},
    {norm_net, "divided by the variance", "y", " times s"},
    {norm_net, "multiplied", "y", nullptr},
    {norm_net, "gain missing", "out", nullptr},
    {norm_net, "gain around zero", "mul", " plus y"},
    {norm_net, "bias missing", "out", " plus bias"},
    {norm_net, "bias subtracted", "out", "opposite sign of bias"},
    {norm_net, "bias before gain", "mul", nullptr},
    // ---- A perceptron ----
    {mlp_net, "weight stored transposed", "w1", "transposed"},
    {mlp_net, "weight used transposed", "matmul", "transposed"},
    {mlp_net, "bias missing", "h", " plus b1"},
    {mlp_net, "relu for tanh", "a", "relu of h"},
    {mlp_net, "sigmoid for tanh", "a", "sigmoid of h"},
    {mlp_net, "no activation", "a", "A is tanh of h"},
    {mlp_net, "activation after the last layer", "logits", "tanh of"},
    {mlp_net, "softmax twice", "logits", "softmax along axis 1"},
    {mlp_net, "temperature", "logits", "divided by 0.70"},
    {mlp_net, "softmax over the batch", "log_p", "log_softmax along axis 0"},
    {mlp_net, "base 2", "log_p", "base 2"},
    {mlp_net, "labels off by one", "take", nullptr},
    {mlp_net, "opposite sign", "losses", "opposite sign"},
    {mlp_net, "sum of losses", "data_loss", "a sum over 5"},
    {mlp_net, "label smoothing", "data_loss", nullptr},
    {mlp_net, "frozen layer", "gradient of penalty", "detach"},
    {mlp_net, "detached hidden", "gradient of a", "detach"},
    {mlp_net, "decay without a half", "penalty", "factor of 2"},
    {mlp_net, "penalty missing", "loss", " plus penalty"},
    // ---- Activations ----
    {activation_net, "gelu by tanh", "a", "tanh approximation of h"},
    {activation_net, "silu", "a", "silu of h"},
    {activation_net, "relu", "a", "relu of h"},
    {activation_net, "leaky relu", "a", "slope 0.01"},
    {activation_net, "leaky relu of slope 0.2", "a", "slope 0.2"},
    {activation_net, "elu", "a", "elu of h"},
    {activation_net, "softplus", "a", "softplus of h"},
    {activation_net, "absolute", "a", "abs of h"},
    // ---- Attention ----
    {attention_net, "embedding not scaled", "embedded", "1/sqrt(6)"},
    {attention_net, "positions from 1", "positions", "off by one"},
    {attention_net, "positions interleaved", "positions", "interleaves"},
    {attention_net, "cosine first", "positions", "in the order 1 0"},
    {attention_net, "no positions", "x_in", " plus positions"},
    {attention_net, "no bias of q", "q", " plus bq"},
    {attention_net, "v from k", "v", "B is k"},
    {attention_net, "heads interleaved", "reshape", nullptr},
    {attention_net, "q and k swapped", "scores", "transposed"},
    {attention_net, "no scale", "scaled", "1/sqrt(3) is missing"},
    {attention_net, "scale by all channels", "scaled", "1/sqrt(2)"},
    {attention_net, "scale the other way", "scaled", "3 times"},
    {attention_net, "no mask", "masked", "mask is missing in B"},
    {attention_net, "mask one off", "masked", "off by one"},
    {attention_net, "mask after softmax", "masked", "softmax along axis 2 of scaled"},
    {attention_net, "softmax over the queries", "weights", "softmax along axis 1"},
    {attention_net, "dropout at test time", "dropped", "dropout of rate 0.25"},
    {attention_net, "dropout without a scale", "dropped", "dropout without"},
    {attention_net, "heads not merged", "merged", "a transpose is missing"},
    {attention_net, "no output projection", "out", "B is merged"},
    {attention_net, "no residual", "sum", " plus x_in"},
    // ---- LSTM ----
    {lstm_net, "sequence reversed", "xs", "reversed along axis 0"},
    {lstm_net, "weights of another gate order", "w", "in the order 0 2 1 3"},
    {lstm_net, "h not carried", "product", "zero"},
    {lstm_net, "bias twice", "gates", " plus b"},
    {lstm_net, "gates read in another order", "f_in", "B is g_in"},
    {lstm_net, "forget bias", "f_in", "constant 1"},
    {lstm_net, "tanh for i", "i", "tanh of"},
    {lstm_net, "forgets the other way", "f", "1 - x"},
    {lstm_net, "no tanh of g", "g", "A is tanh of g_in"},
    {lstm_net, "no sigmoid of o", "o", "B is"},
    {lstm_net, "detached state", "gradient of c", nullptr},
    {lstm_net, "c not carried", "c", " plus kept"},
    {lstm_net, "coupled gates", "mul", nullptr},
    {lstm_net, "no tanh of c", "tanh_c", "A is tanh of c"},
    {lstm_net, "o missing", "h", " times o"},
    {lstm_net, "c for h", "read", "B is c"},
    {lstm_net, "sum over steps", "loss", "a sum over 4"},
    // ---- GRU ----
    {gru_net, "weights with z first", "w", "in the order 1 0 2"},
    {gru_net, "reset before the product", "gated", nullptr},
    {gru_net, "no reset", "gated", " times r"},
    {gru_net, "reset of all", "n_in", nullptr},
    {gru_net, "sigmoid for n", "n", "sigmoid of n_in"},
    {gru_net, "z the other way", "mul", nullptr},
    {gru_net, "no update gate", "h", "tanh of n_in"},
    // ---- Convolution and batch normalization ----
    {conv_net, "pixels to 255", "x", "constant factor"},
    {conv_net, "blue first", "x", "reversed along axis 1"},
    {conv_net, "height and width swapped", "x", "transposed"},
    {conv_net, "kernel turned", "kernel", "reversed along axes 2 and 3"},
    {conv_net, "no padding", "y", nullptr},
    {conv_net, "stride 2", "y", nullptr},
    {conv_net, "statistics of each pixel", "sum", "along axis 0"},
    {conv_net, "statistics of each image", "sum", nullptr},
    {conv_net, "running statistics", "mu", "0.1 times"},
    {conv_net, "unbiased variance", "variance", "unbiased variance"},
    {conv_net, "running variance biased", "running_var", "the biased variance of n = 72"},
    {conv_net, "momentum the other way", "running_mean", "constant factor"},
    {conv_net, "another epsilon", "add", "epsilon 0.001 rather than 1e-05"},
    {conv_net, "no relu", "a", "A is relu of normal"},
    {conv_net, "average pooling", "pooled", nullptr},
    {conv_net, "channels last", "flat", "interleaves"},
    // ---- Embedding and tied weights ----
    {embedding_net, "tokens from 1", "embedding", nullptr},
    {embedding_net, "padding not zero", "rows", "hides"},
    {embedding_net, "mean with padding", "pooled", "the mean along axis 1 of rows"},
    {embedding_net, "sum of words", "pooled", "the sum along axis 1 of rows"},
    {embedding_net, "maximum of words", "pooled", "the maximum along axis 1 of rows"},
    {embedding_net, "last word", "pooled", nullptr},
    {embedding_net, "tied weights cut", "gradient of table", "tied weights"},
    {embedding_net, "tied weights detached", "gradient of table", "tied weights"},
    {embedding_net, "gradient twice", "gradient of table", nullptr},
    // ---- Losses ----
    {loss_net, "error reversed", "error", "opposite sign"},
    {loss_net, "half of the square", "squared", "factor of 2"},
    {loss_net, "absolute error", "squared", "abs of error"},
    {loss_net, "clipped error", "squared", "clipped to"},
    {loss_net, "logarithm of the deviation", "sigma", "exp of log_variance"},
    {loss_net, "constant of the density", "nll", "constant 0.918939"},
    {loss_net, "no class weights", "weighted", " times class_weight"},
    {loss_net, "padding counts", "counted", "hides"},
    {loss_net, "mean over channels", "rows", "a mean over 3"},
    {loss_net, "mean of what counts", "loss", nullptr},
    {loss_net, "logarithm of the mean", "sum", nullptr},
    {loss_net, "greatest row", "loss", "the maximum along axis 0 of rows"},
};

std::string first_of(const TraceDiff& diff) {
  return (diff.first_is_gradient ? "gradient of " : "") + diff.first;
}

}  // namespace

TEST_CASE("what is ported wrongly differs first, and the guess names the mistake") {
  int guessed = 0;
  for (const PortingError& error : errors) {
    INFO(error.fault);
    const TraceDiff diff = compare_traces(ported(error.net, ""), ported(error.net, error.fault));
    INFO(diff.report);
    CHECK_FALSE(diff.equal());
    CHECK(first_of(diff) == error.first);
    CHECK_THAT(diff.report, Contains("differ first at " + diff.first));
    if (error.guess == nullptr) continue;
    CHECK_THAT(diff.guess, Contains(error.guess));
    ++guessed;
  }
  CHECK(std::size(errors) == 129);
  CHECK(guessed == 109);
}

namespace {

// Errors, as operations and as modules show them.
struct ModuleError {
  PortedNet net;
  const char* fault;
  const char *first, *guess;
  const char *first_module, *guess_of_modules;
};

const ModuleError module_errors[] = {
    // ---- A block of a transformer ----
    {block_net, "weight of in transposed", "linear", "by in.weight, the other by its transpose",
     "in", "by in.weight, the other by its transpose"},
    {block_net, "weight of q transposed", "linear", "times q.weight, transposed, plus q.bias, and",
     "q",
     "B is norm times q.weight, transposed, plus q.bias, and A is norm times q.weight plus q.bias"},
    {block_net, "epsilon outside of the root", "norm", "1e-05 outside of the root", "norm",
     "B is x normalized along axis 2 with epsilon 1e-05 outside of the root, times norm.weight"},
    {block_net, "another epsilon", "norm", "with epsilon 1e-06", "norm", "with epsilon 1e-06"},
    {block_net, "unbiased variance of a norm", "norm", "unbiased variance", "norm",
     "unbiased variance"},
    {block_net, "rms for layer norm", "norm", "without subtracting the mean", "norm",
     "without subtracting the mean"},
    {block_net, "norm over positions", "norm", "B is x normalized along axis 1", "norm",
     "B is x normalized along axis 1"},
    {block_net, "keys made from values", "reshape", "another value was taken", "k",
     "B is v times k.weight plus k.bias, and A is norm times k.weight"},
    {block_net, "keys with the weights of values", "linear", "another value was taken", "k",
     "B is v:"},
    {block_net, "dropout left on", "reshape", "dropout of rate 0.25", "out",
     "dropout of rate 0.25"},
    {block_net, "activation more", "reshape", "relu of A", "out", "A is context times out.weight"},
    {block_net, "residual from the norm", "residual", "B is norm plus out, and A is x plus out",
     "residual", "B is norm plus out, and A is x plus out"},
    // ---- Images ----
    {picture_net, "kernel turned around", "conv2d", "second.weight turned around", "second",
     "second.weight turned around"},
    {picture_net, "height and width of a kernel exchanged", "conv2d", "height and width exchanged",
     "second", "height and width exchanged"},
    {picture_net, "reflecting padding", "conv2d", "padding 1 that reflects", "second",
     "padding 1 that reflects"},
    {picture_net, "padding forgotten", "conv2d", "padding 0", "second", "padding 0"},
    {picture_net, "padding of the first by repetition", "conv2d", "the border of the last two axes",
     "first", "the border of the last two axes"},
    {picture_net, "epsilon of a batch outside", "add", "B is sqrt of div plus 0.001", "norm", ""},
    {picture_net, "sum for mean", "pooled", "a sum over 100", "pooled", "a sum over 100"},
    {picture_net, "image read by columns", "flat", "the axes of norm in the order 0 1 3 2", "flat",
     "the axes of norm in the order 0 1 3 2"},
    // ---- Adam ----
    {adam_net, "betas exchanged", "mul", "0.1 times A", "m_new",
     "B is 0.01 times g plus 0.99 times m, and A is 0.1 times g plus 0.9 times m"},
    {adam_net, "decay in the gradient", "add", "B is A plus 0.01 times p", "m_new",
     "B is A plus 0.001 times p"},
    {adam_net, "square missing", "square", "abs of", "v_new",
     "plus 0.01 times square of g, and B is not"},
    {adam_net, "counted from 0", "m_hat", "constant factor", "m_hat", "constant factor"},
    {adam_net, "no correction", "m_hat", "0.40951 times A", "m_hat", "0.40951 times A"},
    {adam_net, "epsilon in the root", "sqrt", "B has epsilon 0.001, A has 0", "update",
     "B is m_hat / sqrt(v_hat + 0.001), and A is m_hat / (sqrt(v_hat) + 0.001)"},
    {adam_net, "root missing", "update", "B is m_hat / (v_hat + 0.001)", "update",
     "B is m_hat / (v_hat + 0.001)"},
    {adam_net, "decay without the rate", "mul", "constant factor", "p_new",
     "B is A minus 0.009 times p"},
    {adam_net, "ascent", "p_new", "opposite sign", "p_new", "B is A plus 0.2 times update"},
};

}  // namespace

TEST_CASE("errors within modules are found by what modules compute") {
  for (const ModuleError& error : module_errors) {
    INFO(error.fault);
    const Trace right = ported(error.net, ""), wrong = ported(error.net, error.fault);
    const TraceDiff diff = compare_traces(right, wrong),
                    coarse = compare_traces(modules(right), wrong),
                    back = compare_traces(wrong, modules(right));
    INFO(diff.report << coarse.report << back.report);
    CHECK(diff.first == error.first);
    CHECK_THAT(diff.guess, Contains(error.guess));
    CHECK(coarse.first == error.first_module);
    CHECK_THAT(coarse.guess, Contains(error.guess_of_modules));
    CHECK(back.first == error.first_module);
  }
}

TEST_CASE("steps without an error are equal") {
  for (const PortedNet net :
       {norm_net, mlp_net, activation_net, attention_net, lstm_net, gru_net, conv_net,
        embedding_net, loss_net, block_net, picture_net, adam_net}) {
    const TraceDiff diff = compare_traces(ported(net, ""), ported(net, ""), {.tolerance = 0});
    INFO(diff.report);
    CHECK(diff.equal());
    CHECK(diff.pairs > 5);
    CHECK(diff.first == "");
    CHECK(compare_traces(modules(ported(net, "")), ported(net, "")).equal());
    CHECK(compare_traces(ported(net, ""), modules(ported(net, ""))).equal());
  }
}

namespace {

// A step of a net on normal numbers, fused or as its definitions.
template <class Net, class Loss>
Trace step_of(const Net& net, const Loss& loss, bool composite) {
  const Composite readable(composite);
  const Tape tape({.keep_values = true});
  grad(loss(net), parameters(net));
  return trace(tape, fields(net));
}

template <class Net, class Loss>
void check_composite(const Net& net, const Loss& loss) {
  const Trace fused = step_of(net, loss, false), readable = step_of(net, loss, true);
  CHECK(readable.values.size() > fused.values.size());
  const TraceDiff diff = compare_traces(fused, readable), back = compare_traces(readable, fused);
  INFO(diff.report << back.report);
  CHECK(diff.equal());
  CHECK(back.equal());
  CHECK(diff.pairs >= std::ssize(fused.values) - 3);
  CHECK(diff.rounding > 0);
  CHECK(diff.rounding < 16);
}

// A trace of values of one shape each, without inputs.
Trace made(const std::vector<TracedValue>& values) {
  return {.values = values, .framework = "tapegrad", .precision = "float32", .instruction_set = ""};
}

}  // namespace

TEST_CASE("fused operations agree with their definitions") {
  Random random(1);
  const Tensor x = random.normal({16, 12});
  check_composite(Mlp({12, 24, 24, 3}, random, {.norm = "layer"}), [&](const Mlp& net) {
    return cross_entropy(net(x), Indices({16}, std::vector<Index>(16, 1)));
  });
  const Tensor xs = random.normal({6, 4, 5});
  for (const Cell& cell : {Cell::lstm, Cell::gru})
    check_composite(Recurrent(cell, 5, 8, random, {.layers = 2}),
                    [&](const Recurrent& net) { return mean(square(net(xs).outputs)); });
}

TEST_CASE("the tolerance decides what is rounding") {
  for (const char* fault : {"unbiased variance", "epsilon outside"}) {
    const Trace right = ported(norm_net, ""), wrong = ported(norm_net, fault);
    CHECK_FALSE(compare_traces(right, wrong).equal());
    CHECK(compare_traces(right, wrong, {.tolerance = 1e30}).equal());
  }
  const Trace a = made({{.name = "x", .operation = "exp", .value = Tensor({2}, {1, 1e-3})}}),
              b = made({{.name = "x", .operation = "exp", .value = Tensor({2}, {1, 1e-3 + 3e-7})}});
  const double apart = compare_traces(a, b).rounding;  // in ULPs of 1
  CHECK(apart == Approx(3e-7 / 1.1920929e-7).epsilon(1e-3));
  CHECK(compare_traces(a, b, {.tolerance = apart}).equal());
  CHECK_FALSE(compare_traces(a, b, {.tolerance = apart / 2}).equal());
  CHECK_THROWS_AS(compare_traces(a, b, {.tolerance = -1}), ArgumentError);
}

TEST_CASE("values that are not finite differ from those that are") {
  const auto of = [](double value) {
    return made({{.name = "x", .operation = "exp", .value = Tensor({2}, {1, real(value)})}});
  };
  for (const double value : {double(NAN), double(INFINITY), -double(INFINITY)}) {
    CHECK(compare_traces(of(value), of(value)).equal());
    CHECK_FALSE(compare_traces(of(value), of(1)).equal());
    CHECK_FALSE(compare_traces(of(1), of(value)).equal());
  }
  CHECK_FALSE(compare_traces(of(INFINITY), of(-INFINITY)).equal());
}

TEST_CASE("a mask does not hide what differs beside it") {
  const Index length = 4;
  const Tensor q = Random(1).normal({length, 3}), k = Random(2).normal({length, 3});
  const auto attention = [&](double divisor, const Tensor& allowed, double mask,
                             bool added = false) {
    const Tensor scores = matmul(q, k, {.b = true}),
                 masked = added ? scores / divisor + where(allowed, 0.0, mask)
                                : where(allowed, scores / divisor, mask);
    return made(
        {{.name = "q", .operation = "constant", .value = q},
         {.name = "k", .operation = "constant", .value = k},
         {.name = "scores", .operation = "matmul", .inputs = {0, 1}, .value = scores},
         {.name = "masked", .operation = "where", .inputs = {2}, .value = masked},
         {.name = "weights", .operation = "softmax", .inputs = {3}, .value = softmax(masked)}});
  };
  const Tensor causal = tril(ones({length, length})), one_off = tril(ones({length, length}), 1);
  const double root = std::sqrt(3.0);
  for (const double mask : {-1e4, -65504.0, -1e9, -1e30, -3.3895313892515355e38,
                            double(std::numeric_limits<real>::lowest()), -double(INFINITY)}) {
    INFO(mask);
    const Trace right = attention(root, causal, mask);
    for (const Trace& other : {attention(1, causal, mask), attention(root * 1.001, causal, mask)}) {
      CHECK(compare_traces(right, other).first == "masked");
      CHECK(compare_traces(other, right).first == "masked");
    }
    CHECK_THAT(compare_traces(right, attention(1, causal, mask)).guess,
               Contains("1/sqrt(3) is missing"));
    CHECK_THAT(compare_traces(right, attention(root, one_off, mask)).guess, Contains("off by one"));
    CHECK(compare_traces(right, attention(root, causal, mask)).equal());
    CHECK(compare_traces(attention(root, causal, mask, true), attention(1, causal, mask, true))
              .first == "masked");
  }
  // The largest of two elements is no mask value.
  const auto of = [](double large, double small) {
    return made(
        {{.name = "x", .operation = "exp", .value = Tensor({2}, {real(large), real(small)})}});
  };
  CHECK(compare_traces(of(5000.5, 1), of(5000.5, 1.001)).equal());
  CHECK(compare_traces(of(5000, 50), of(5000, 50.001)).equal());
  CHECK_FALSE(compare_traces(of(5000, 1), of(5000, 1.001)).equal());
}

TEST_CASE("traces with nothing in common differ") {
  const Trace a = made({{.name = "exp", .operation = "exp", .value = ones({2})}}),
              b = made({{.name = "log", .operation = "log", .value = ones({3})}});
  CHECK(compare_traces(a, b).pairs == 0);
  CHECK_FALSE(compare_traces(a, b).equal());
  CHECK_FALSE(compare_traces({}, {}).equal());
}

TEST_CASE("a parameter that one trace alone has is a difference") {
  const TracedValue w{.name = "w", .operation = "parameter", .value = ones({2})},
      v{.name = "v", .operation = "parameter", .value = zeros({3})};
  const TraceDiff diff = compare_traces(made({w}), made({w, v}));
  CHECK(diff.alone == 1);
  CHECK_FALSE(diff.equal());
  CHECK_THAT(diff.report, Contains("Only in B: v (parameter)."));
}

TEST_CASE("parameters of other names and layouts are found by their values") {
  Random random(4);
  const Tensor w = random.normal({3, 3}), u = random.normal({2, 3}), g = random.normal({3, 3});
  const Trace a = made({{.name = "a.w", .operation = "parameter", .value = w, .gradient = g},
                        {.name = "u", .operation = "parameter", .value = u, .gradient = u}});
  Trace b = made(
      {{.name = "0.weight",
        .operation = "parameter",
        .value = transpose(w),
        .gradient = transpose(g)},
       {.name = "u", .operation = "parameter", .value = transpose(u), .gradient = transpose(u)}});
  CHECK(compare_traces(a, b).values == 1);  // u, of one name, has another layout in one framework
  b.framework = "pytorch";
  CHECK(compare_traces(a, b).equal());
  b.values[0].gradient = g;
  CHECK(compare_traces(a, b).gradients == 1);
}

TEST_CASE("an operation more does not disturb the others") {
  const auto chain = [](bool more) {
    const Tape tape({.keep_values = true});
    Tensor x = watch(linspace(0.1, 1, 5));
    for (int i = 0; i < 4; ++i) {
      x = tanh(x * 1.5);
      if (more && i == 2) x = x * 1.25;
    }
    return trace(tape, {});
  };
  const TraceDiff diff = compare_traces(chain(false), chain(true));
  CHECK(diff.pairs == 9);
  CHECK(diff.values == 2);  // those after it
  CHECK_THAT(diff.report, Contains("Only in B: mul."));
}

TEST_CASE("a report names both lines, inputs and what follows") {
  const TraceDiff diff = compare_traces(ported(norm_net, ""), ported(norm_net, "gain around zero"));
  for (const char* words :
       {"The values differ first at mul:", "  A  trace_nets.cpp:", ": out = y * gain + bias;",
        ": out = y * (1.0 + gain) + bias;", "y (div) agrees (0 ULPs)",
        "This looks like: B is A plus y", "What follows from it: "})
    CHECK_THAT(diff.report, Contains(words));
}

TEST_CASE("long traces that differ throughout are aligned at their ends alone") {
  const auto chain = [](real first, std::size_t length) {
    std::vector<TracedValue> values{{.name = "exp", .operation = "exp", .value = ones({2})}};
    for (std::size_t i = 0; i < length; ++i)
      values.push_back(
          {.name = "mul", .operation = "mul", .value = Tensor({1}, {first + real(i)})});
    return made(values);
  };
  CHECK(compare_traces(chain(1, 100), chain(1000, 90)).pairs == 91);
  CHECK(compare_traces(chain(1, 4000), chain(1e6, 4000)).pairs == 1);
}

TEST_CASE("named values may be computed in another order") {
  const auto branches = [](bool swapped) {
    const Tape tape({.keep_values = true});
    const Tensor x = named(watch(linspace(0.1, 1, 5)), "x");
    Tensor q, k;
    const auto make_q = [&] { q = named(tanh(x * 2.0) + 1.0, "q"); };
    const auto make_k = [&] { k = named(exp(x * 3.0) + 2.0, "k"); };
    if (swapped) make_k();
    make_q();
    if (!swapped) make_k();
    named(q * k, "scores");
    return trace(tape, {});
  };
  const TraceDiff diff = compare_traces(branches(false), branches(true));
  INFO(diff.report);
  CHECK(diff.equal());
  CHECK(diff.pairs >= 6);
}

namespace {

enum class Order { qkv, vkq };

// Attention with rotary positions, in calls on (B, T, C) or, as PyTorch has it, on heads.
// `wrong` turns the keys the other way.
Trace rotary_step(Order order, bool of_heads, bool wrong = false) {
  const Index batch = 2, length = 5, heads = 2, size = 4, channels = heads * size;
  PortedStep is("");
  const Tape tape({.keep_values = true});
  const Tensor x = Random(1).normal({batch, length, channels});
  const Tensor angles =
      reshape(arange(length), {length, 1, 1}) * Tensor({1, size / 2, 1}, {1, 0.01});
  const auto turned_heads = [&](const Tensor& y, double direction) {
    const Tensor pairs = reshape(y, {batch, heads, length, size / 2, 2}),
                 even = slice(pairs, 4, 0, 1), odd = slice(pairs, 4, 1, 2),
                 other = concat({-odd, even}, 4);
    return reshape(pairs * cos(angles) + other * (direction * sin(angles)),
                   {batch, heads, length, size});
  };
  const auto projected = [&](const std::string& name) {
    const Tensor y =
        linear(x, is(name + ".weight", {channels, channels}, 0.5), is(name + ".bias", {channels}));
    const bool turns = name != "v";
    if (!of_heads && !(wrong && name == "k")) return turns ? rotary(y, heads) : y;
    Tensor z = permute(reshape(y, {batch, length, heads, size}), {0, 2, 1, 3});
    if (turns) z = turned_heads(z, wrong && name == "k" ? -1 : 1);
    return of_heads ? z : reshape(permute(z, {0, 2, 1, 3}), {batch, length, channels});
  };
  std::map<std::string, Tensor> made;
  for (const char* name :
       order == Order::qkv ? std::array{"q", "k", "v"} : std::array{"v", "k", "q"})
    made[name] = projected(name);
  const auto flat = [&](const Tensor& y) { return reshape(y, {batch * heads, length, size}); };
  Tensor y;
  if (of_heads)
    y = reshape(permute(reshape(attention(flat(made["q"]), flat(made["k"]), flat(made["v"])),
                                {batch, heads, length, size}),
                        {0, 2, 1, 3}),
                {batch, length, channels});
  else
    y = attention(made["q"], made["k"], made["v"], {.heads = heads});
  const Tensor loss =
      mean(square(linear(y, is("out.weight", {channels, channels}), is("out.bias", {channels}))));
  grad(loss, parameters(is));
  Trace step = trace(tape, fields(is));
  if (of_heads) step.framework = "pytorch";
  return step;
}

}  // namespace

TEST_CASE("right ports that compute in other ways and orders are equal") {
  for (const Order a : {Order::qkv, Order::vkq})
    for (const Order b : {Order::qkv, Order::vkq})
      for (const bool a_of_heads : {false, true})
        for (const bool b_of_heads : {false, true}) {
          const Trace one = rotary_step(a, a_of_heads), other = rotary_step(b, b_of_heads);
          const TraceDiff diff = compare_traces(one, other);
          INFO(diff.report);
          CHECK(diff.equal());
          CHECK(diff.pairs >= 16);
        }
}

TEST_CASE("an error is found among values in another order") {
  for (const Order order : {Order::qkv, Order::vkq})
    for (const bool of_heads : {false, true}) {
      const TraceDiff diff =
          compare_traces(rotary_step(Order::qkv, of_heads), rotary_step(order, of_heads, true));
      INFO(diff.report);
      CHECK(diff.first == (of_heads ? "mul" : "rotary"));
    }
}

namespace {

// Nets with a bias that a norm or a softmax takes away, and the same computed in another way.
Tensor biased_images(PortedStep& is, bool other) {
  const Tensor x = Random(1).normal({32, 3, 16, 16}) + 3.0;
  const Tensor y = conv2d(x, is("kernel", {6, 3, 3, 3})) + is("bias", {6, 1, 1});
  const Axes axes{0, 2, 3};
  const Tensor mu = mean(y, axes, Keep::yes), v = var(y, axes, Keep::yes) + 1e-5;
  const Tensor normal = other ? y * rsqrt(v) - mu * rsqrt(v) : (y - mu) / sqrt(v);
  return mean_of(square(relu(normal * is("gain", {6, 1, 1}) + is("shift", {6, 1, 1})) - 1.0));
}
Tensor biased_rows(PortedStep& is, bool other) {
  const Tensor x = Random(1).normal({4096, 5}) + 3.0;
  const Tensor y = linear(x, is("weight", {5, 7}), is("bias", {7}));
  const Tensor mu = mean(y, 0), v = var(y, 0) + 1e-5;
  return mean_of(square(relu(other ? y * rsqrt(v) - mu * rsqrt(v) : (y - mu) / sqrt(v)) - 1.0));
}
Tensor biased_keys(PortedStep& is, bool other) {
  const Tensor x = Random(1).normal({8, 50, 8}) + 0.5;
  const Tensor q = linear(x, is("q.weight", {8, 8}, 0.3), is("q.bias", {8})),
               k = linear(x, is("k.weight", {8, 8}, 0.3), is("k.bias", {8}));
  return mean_of(square(other ? composite::attention(q, k, x) : attention(q, k, x)));
}

}  // namespace

TEST_CASE("gradients that are 0 but for rounding are equal") {
  const auto step = [](Tensor (*net)(PortedStep&, bool), bool other) {
    const Tape tape({.keep_values = true});
    PortedStep is("");
    const Tensor loss = net(is, other);
    grad(loss, parameters(is));
    return trace(tape, fields(is));
  };
  for (Tensor (*net)(PortedStep&, bool) : {biased_images, biased_rows, biased_keys}) {
    const Trace a = step(net, false);
    Trace b = step(net, true);
    for (const TraceDiff& diff : {compare_traces(a, b), compare_traces(b, a)}) {
      INFO(diff.report);
      CHECK(diff.equal());
    }
    for (TracedValue& one : b.values)
      if (one.operation == "parameter") one.gradient = one.gradient * 1.01 + 1e-5;
    CHECK(compare_traces(a, b).gradients >= 2);
  }
}
