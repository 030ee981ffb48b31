#include "ops/table.h"

#include "tapegrad/nn/functions/attention.h"
#include "tapegrad/nn/functions/divisive.h"
#include "tapegrad/nn/functions/recurrent.h"
#include "tapegrad/ops/affine.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/norm.h"
#include "tapegrad/ops/normalize.h"
#include "tapegrad/ops/order.h"
#include "tapegrad/ops/reduce.h"
#include "tapegrad/ops/softmax.h"

namespace tapegrad::testing {
namespace {

Function of(Tensor (*f)(const Tensor&, Place)) {
  return [f](In x) { return f(x[0], Place::here()); };
}
Function of(Tensor (*f)(const Tensor&, const Tensor&, Place)) {
  return [f](In x) { return f(x[0], x[1], Place::here()); };
}

const Axes ends{0, 2};
const Tensor first_and_last({3}, {1, 0, 1});
const Indices ids({2, 2}, {2, 0, 1, 2});
const Indices columns({2, 3}, {0, 2, 1, 3, 3, 0});
const Indices labels({3}, {1, 0, 3});
const NormOptions outside_unbiased{
    .epsilon = 0.1, .place = Epsilon::outside_root, .variance = Variance::unbiased};

// All that a recurrent operation returns, as rows.
Tensor everything(const RecurrentResult& result) {
  std::vector<Tensor> operation_rows{result.outputs, stack({result.last.h})};
  if (result.last.c.defined()) operation_rows.push_back(stack({result.last.c}));
  return concat(operation_rows);
}

std::vector<Row> operation_rows() {
  return {
      {"add", "a + b", "any_(2, 1, 3), any_(4, 1)", of(add)},
      {"sub", "a - b", "any_(3), any_(2, 3)", of(sub)},
      {"mul", "a * b", "any_(2, 3), any_(2, 1)", of(mul)},
      {"div", "a / b", "any_(2, 3), away(3)", of(div)},
      {"pow", "torch.pow(a, b)", "positive(2, 3), any_(3)", of(pow)},
      {"minimum", "torch.minimum(a, b)", "spread(2, 3), spread(2, 3) + 0.1", of(minimum)},
      {"maximum", "torch.maximum(a, b)", "spread(2, 3), spread(2, 3) + 0.1", of(maximum)},
      {"neg", "torch.neg(a)", "any_(2, 3)", of(neg)},
      {"abs", "torch.abs(a)", "away(2, 3)", of(abs)},
      {"sign", "torch.sign(a)", "away(2, 3)", of(sign)},
      {"floor", "torch.floor(a)", "away(2, 3, around=(-1.0, 0.0, 1.0))", of(floor)},
      {"ceil", "torch.ceil(a)", "away(2, 3, around=(-1.0, 0.0, 1.0))", of(ceil)},
      {"round", "torch.round(a)", "away(2, 3, around=(-1.5, -0.5, 0.5, 1.5))", of(round)},
      {"exp", "torch.exp(a)", "any_(2, 3)", of(exp)},
      {"expm1", "torch.expm1(a)", "any_(2, 3)", of(expm1)},
      {"log", "torch.log(a)", "positive(2, 3)", of(log)},
      {"log1p", "torch.log1p(a)", "positive(2, 3) - 0.5", of(log1p)},
      {"sqrt", "torch.sqrt(a)", "positive(2, 3)", of(sqrt)},
      {"rsqrt", "torch.rsqrt(a)", "positive(2, 3)", of(rsqrt)},
      {"square", "torch.square(a)", "any_(2, 3)", of(square)},
      {"reciprocal", "torch.reciprocal(a)", "away(2, 3, gap=0.4)", of(reciprocal)},
      {"sin", "torch.sin(a)", "any_(2, 3)", of(sin)},
      {"cos", "torch.cos(a)", "any_(2, 3)", of(cos)},
      {"tanh", "torch.tanh(a)", "any_(2, 3)", of(tanh)},
      {"erf", "torch.erf(a)", "any_(2, 3)", of(erf)},
      {"sigmoid", "torch.sigmoid(a)", "any_(2, 3)", of(sigmoid)},
      {"relu", "torch.relu(a)", "away(2, 3)", of(relu)},
      {"leaky_relu", "F.leaky_relu(a, 0.2)", "away(2, 3)",
       [](In x) { return leaky_relu(x[0], 0.2); }},
      {"elu", "F.elu(a, 0.7)", "away(2, 3)", [](In x) { return elu(x[0], 0.7); }},
      {"gelu", "F.gelu(a)", "any_(2, 3)", of(gelu), true},
      {"gelu_tanh", "F.gelu(a, approximate='tanh')", "any_(2, 3)", of(gelu_tanh)},
      {"silu", "F.silu(a)", "any_(2, 3)", of(silu)},
      {"softplus", "F.softplus(a)", "any_(2, 3)", of(softplus)},
      {"clamp", "torch.clamp(a, -0.5, 1.0)", "away(3, 4, around=(-0.5, 1.0))",
       [](In x) { return clamp(x[0], -0.5, 1); }},
      {"where", "torch.where(first_and_last, a, b)", "any_(2, 3), any_(2, 1)",
       [](In x) { return where(first_and_last, x[0], x[1]); }},
      {"masked_fill", "a.masked_fill(first_and_last, -7)", "any_(2, 3)",
       [](In x) { return masked_fill(x[0], first_and_last, -7); }},
      {"sum", "a.sum((0, 2))", "any_(2, 3, 4)", [](In x) { return sum(x[0], ends); }},
      {"mean", "a.mean(1, keepdim=True)", "any_(2, 3, 4)",
       [](In x) { return mean(x[0], 1, Keep::yes); }},
      {"var", "a.var((1, 2), unbiased=False)", "any_(2, 3, 4)",
       [](In x) {
         return var(x[0], {1, 2});
       }},
      {"var_unbiased", "a.var(1, unbiased=True)", "any_(2, 3, 4)",
       [](In x) { return var(x[0], 1, Keep::no, Variance::unbiased); }},
      {"stddev", "a.std(0, unbiased=True)", "any_(3, 4)",
       [](In x) { return stddev(x[0], 0, Keep::no, Variance::unbiased); }},
      {"norm", "torch.linalg.vector_norm(a, dim=1)", "any_(2, 3, 4)",
       [](In x) { return norm(x[0], 1); }},
      {"max", "a.amax((0, 2))", "spread(2, 3, 4)", [](In x) { return max(x[0], ends); }},
      {"min", "a.amin(1)", "spread(2, 3, 4)", [](In x) { return min(x[0], 1); }},
      {"logsumexp", "torch.logsumexp(a, (0, 2))", "any_(2, 3, 4)",
       [](In x) { return logsumexp(x[0], ends); }},
      {"sum_to", "a.sum(0).sum(1, keepdim=True)", "any_(2, 3, 4)",
       [](In x) {
         return sum_to(x[0], {3, 1});
       }},
      {"reshape", "a.reshape(4, -1)", "any_(2, 3, 2)",
       [](In x) {
         return reshape(x[0], {4, -1});
       }},
      {"permute", "a.permute(2, 0, 1)", "any_(2, 3, 4)",
       [](In x) {
         return permute(x[0], {2, 0, 1});
       }},
      {"transpose", "a.transpose(0, 2)", "any_(2, 3, 4)",
       [](In x) { return transpose(x[0], 0, 2); }},
      {"slice", "a[:, 1:4:2]", "any_(2, 5, 3)", [](In x) { return slice(x[0], 1, 1, 4, 2); }},
      {"select", "a[:, -1]", "any_(2, 5, 3)", [](In x) { return select(x[0], -1, 1); }},
      {"concat", "torch.cat([a, b, a], 1)", "any_(2, 3), any_(2, 1)",
       [](In x) {
         return concat({x[0], x[1], x[0]}, 1);
       }},
      {"stack", "torch.stack([a, b], 1)", "any_(2, 3), any_(2, 3)",
       [](In x) {
         return stack({x[0], x[1]}, 1);
       }},
      {"split", "torch.split(a, [1, 3], 1)[1]", "any_(2, 4)",
       [](In x) {
         return split(x[0], {1, 3}, 1)[1];
       }},
      {"broadcast_to", "a.broadcast_to(4, 2, 3)", "any_(2, 1)",
       [](In x) {
         return broadcast_to(x[0], {4, 2, 3});
       }},
      {"pad", "F.pad(a, (1, 0, 0, 2), value=0.5)", "any_(2, 3)",
       [](In x) {
         return pad(x[0], {{0, 2}, {1, 0}}, 0.5);
       }},
      {"tril", "torch.tril(a, -1)", "any_(2, 3, 4)", [](In x) { return tril(x[0], -1); }},
      {"triu", "torch.triu(a, 1)", "any_(3, 4)", [](In x) { return triu(x[0], 1); }},
      {"matmul", "torch.matmul(a, b)", "any_(2, 3), any_(3, 4)",
       [](In x) { return matmul(x[0], x[1]); }},
      {"linear", "a @ b + c", "any_(5, 3), any_(3, 4), any_(4)",
       [](In x) { return linear(x[0], x[1], x[2]); }, true},
      {"linear_sequences", "a @ b + c", "any_(2, 3, 4), any_(4, 19), any_(19)",
       [](In x) { return linear(x[0], x[1], x[2]); }, true},
      {"matmul_batched", "torch.matmul(a, b)", "any_(2, 1, 3, 2), any_(3, 2, 2)",
       [](In x) { return matmul(x[0], x[1]); }},
      {"matmul_transposed", "a.mT @ b.mT", "any_(2, 3, 2), any_(2, 4, 3)",
       [](In x) { return matmul(x[0], x[1], {.a = true, .b = true}); }},
      {"matmul_rows", "a @ b.mT", "any_(2, 3, 4), any_(5, 4)",
       [](In x) { return matmul(x[0], x[1], {.b = true}); }},
      {"outer", "torch.outer(a, b)", "any_(3), any_(2)", of(outer)},
      {"embedding", "F.embedding(ids, a)", "any_(3, 2)", [](In x) { return embedding(x[0], ids); }},
      {"gather", "torch.gather(a, 1, columns)", "any_(2, 4)",
       [](In x) { return gather(x[0], 1, columns); }},
      {"scatter_add", "torch.zeros(2, 4, dtype=double).scatter_add(1, columns, a)", "any_(2, 3)",
       [](In x) {
         return scatter_add(x[0], 1, columns, {2, 4});
       }},
      {"pick", "a[torch.arange(3), labels]", "any_(3, 4)", [](In x) { return pick(x[0], labels); }},
      {"take", "torch.take(a, columns)", "any_(2, 4)", [](In x) { return take(x[0], columns); }},
      {"put",
       "torch.zeros(8, dtype=double).index_add(0, columns.flatten(), a.flatten()).reshape(2, 4)",
       "any_(2, 3)",
       [](In x) {
         return put(x[0], columns, {2, 4});
       }},
      {"softmax", "F.softmax(a, -1)", "any_(2, 3)", [](In x) { return softmax(x[0]); }, true},
      {"softmax_middle", "F.softmax(a, 1)", "any_(2, 3, 2)", [](In x) { return softmax(x[0], 1); },
       true},
      {"log_softmax", "F.log_softmax(a, -1)", "any_(2, 5)", [](In x) { return log_softmax(x[0]); },
       true},
      {"layer_norm", "F.layer_norm(a, (5,), eps=1e-5)", "any_(3, 5)",
       [](In x) { return layer_norm(x[0]); }, true},
      {"affine", "a * b + c", "any_(2, 3, 17), any_(17), any_(17)",
       [](In x) { return affine(x[0], x[1], x[2]); }, true, 1},
      {"affine_norm", "F.layer_norm(a, (17,), b, c)", "any_(2, 3, 17), any_(17), any_(17)",
       [](In x) { return affine_norm(x[0], both({.axes = {-1}}), x[1], x[2]); }, true, 1},
      {"affine_norm_rms", "b * a / torch.sqrt((a ** 2).mean(-1, keepdim=True) + 1e-5)",
       "any_(3, 5), any_(5)",
       [](In x) { return affine_norm(x[0], {.center = {}, .scale = {.axes = {-1}}}, x[1], {}); },
       true},
      {"affine_norm_columns", "F.batch_norm(a, None, None, b, c, training=True)",
       "any_(5, 7), any_(7), any_(7)",
       [](In x) { return affine_norm(x[0], both({.axes = {0}}), x[1], x[2]); }, true, 1},
      {"affine_gain", "a * b", "any_(3, 5), any_(5)", [](In x) { return affine(x[0], x[1], {}); },
       true},
      {"layer_norm_detached_mean", "(a - a.mean(-1, keepdim=True).detach()) / deviation(a)",
       "any_(3, 5)", [](In x) { return layer_norm(x[0], {.detach_mean = true}); }, true},
      {"layer_norm_detached_scale", "(a - a.mean(-1, keepdim=True)) / deviation(a).detach()",
       "any_(3, 5)", [](In x) { return layer_norm(x[0], {.detach_scale = true}); }, true},
      {"layer_norm_detached", "(a - a.mean(-1, keepdim=True).detach()) / deviation(a).detach()",
       "any_(3, 5)",
       [](In x) { return layer_norm(x[0], {.detach_mean = true, .detach_scale = true}); }, true},
      {"layer_norm_outside", "(a - a.mean(-1, keepdim=True)) / (a.std(-1, keepdim=True) + 0.1)",
       "any_(3, 5)", [](In x) { return layer_norm(x[0], outside_unbiased); }, true},
      {"rms_norm", "F.rms_norm(a, (5,), eps=1e-6)", "any_(3, 5)",
       [](In x) { return rms_norm(x[0]); }, true},
      {"rms_norm_outside", "a / (torch.sqrt((a * a).mean(-1, keepdim=True)) + 1e-5)", "any_(3, 5)",
       [](In x) { return rms_norm(x[0], {.place = Epsilon::outside_root}); }, true},
      {"rms_norm_partial", "a / torch.sqrt((a[:, :2] ** 2).mean(-1, keepdim=True) + 1e-5)",
       "any_(3, 5)",
       [](In x) { return normalize(x[0], {.center = {}, .scale = {.axes = {-1}, .share = 0.5}}); }},
      {"normalize_batch", "F.batch_norm(a, None, None, training=True)", "any_(3, 2, 2, 3)",
       [](In x) {
         return normalize(x[0], both({.axes = {0, 2, 3}}));
       },
       true},
      {"normalize_batch_features", "F.batch_norm(a, None, None, training=True)", "any_(5, 19)",
       [](In x) { return normalize(x[0], both({.axes = {0}})); }, true},
      {"normalize_instance", "F.instance_norm(a)", "any_(2, 3, 2, 3)",
       [](In x) {
         return normalize(x[0], both({.axes = {2, 3}}));
       },
       true},
      {"normalize_groups", "F.group_norm(a, 2)", "any_(2, 4, 2, 3)",
       [](In x) {
         return normalize(x[0], both({.axes = {1, 2, 3}, .groups = 2}));
       },
       true},
      {"normalize_detached", "grouped_detached(a)", "any_(2, 4, 2, 3)",
       [](In x) {
         return normalize(x[0], both({.axes = {1, 2, 3}, .groups = 2}), {.detach_scale = true});
       },
       true},
      {"normalize_two_fields", "two_fields(a)", "any_(2, 4, 2, 3)",
       [](In x) {
         return normalize(x[0], {.center = NormField{.axes = {1}}, .scale = {.axes = {2, 3}}});
       }},
      {"normalize_window", "windowed(a)", "any_(2, 3, 3, 4)",
       [](In x) {
         return normalize(x[0], both({.axes = {1}, .window = {2, 3}, .radius = 1}));
       }},
      {"normalize", "smoothed(a, b)", "any_(3, 5), positive(1)",
       [](In x) { return normalize(x[0], both({.axes = {-1}}), {}, x[1]); }, false, 1},
      {"ada_scale", "2 * (1 - 0.1 * a) * a", "any_(3, 5)",
       [](In x) { return ada_scale(x[0], {.factor = 2, .detach_factor = false}); }},
      {"ada_scale_detached", "(1 - 0.1 * a).detach() * a", "any_(3, 5)",
       [](In x) { return ada_scale(x[0]); }},
      {"centered_l1", "(a - a.mean(-1, keepdim=True)).abs().mean()", "spread(3, 4, step=0.37)",
       [](In x) { return centered_l1(x[0], {.axes = {-1}}); }},
      {"divisive_norm", "a @ b.T / torch.sqrt(1 + a * a @ (c * c).T)",
       "away(2, 3), any_(3, 3), any_(3, 3)",
       [](In x) { return divisive_norm(x[0], x[1], square(x[2])); }},
      {"divisive_norm_cubic", "a @ b.T / (0.49 + a.abs() ** 3 @ (c * c).T) ** (1 / 3)",
       "away(2, 3), any_(3, 3), any_(3, 3)",
       [](In x) {
         return divisive_norm(x[0], x[1], square(x[2]), {.smoothing = 0.7, .exponent = 3});
       }},
      {"weight_norm", "torch._weight_norm(a, b, 1)", "any_(4, 3), any_(1, 3)",
       [](In x) { return weight_norm(x[0], x[1], 0); }},
      {"attention", "attention(a, b, c, 1)", "any_(2, 3, 2), any_(2, 4, 2), any_(2, 4, 2)",
       [](In x) { return attention(x[0], x[1], x[2]); }, true},
      {"attention_causal", "attention(a, b, c, 2, attn_mask=torch.ones(3, 4).tril(1).bool())",
       "any_(2, 3, 4), any_(2, 4, 4), any_(2, 4, 4)",
       [](In x) { return attention(x[0], x[1], x[2], {.heads = 2, .causal = true}); }, true},
      {"attention_masked", "attention(a, b, c, 2, scale=0.3, attn_mask=mask_and_bias)",
       "any_(2, 3, 4), any_(2, 4, 4), any_(2, 4, 4)",
       [](In x) {
         return attention(x[0], x[1], x[2],
                          {.heads = 2,
                           .scale = 0.3,
                           .mask = Tensor({2, 1, 1, 4}, {1, 1, 0, 1, 0, 1, 1, 0}),
                           .bias = Tensor({2, 1, 4}, {0, 1, 2, 3, 1, -1, 0, 0.5})});
       },
       true},
      {"attention_bias", "attention(a, b, c, 2, attn_mask=d)",
       "any_(2, 3, 4), any_(2, 4, 4), any_(2, 4, 4), any_(2, 3, 4)",
       [](In x) { return attention(x[0], x[1], x[2], {.heads = 2, .bias = x[3]}); }, false, 1},
      {"self_attention", "attention(*torch.split(a, 4, -1), 2, is_causal=True)", "any_(2, 3, 12)",
       [](In x) { return self_attention(x[0], {.heads = 2, .causal = true}); }, true},
      {"rotary", "rotary(a, 2, 3)", "any_(2, 3, 8)", [](In x) { return rotary(x[0], 2, 3); }},
      {"relative_shift", "relative_shift(a)", "any_(2, 3, 4)",
       [](In x) { return relative_shift(x[0]); }},
      {"recurrent", "recurrent('tanh', a, b, c)", "any_(3, 3, 2), any_(2, 2), any_(3, 2)",
       [](In x) {
         return everything(recurrent(Cell::rnn_tanh, x[0], x[1], {x[2], {}}));
       },
       true},
      {"recurrent_relu_lengths", "recurrent('relu', a, b, c, lengths=(1, 3, 2))",
       "any_(3, 3, 2), any_(2, 2), any_(3, 2)",
       [](In x) {
         return everything(
             recurrent(Cell::rnn_relu, x[0], x[1], {x[2], {}}, {}, Indices({3}, {1, 3, 2})));
       },
       true},
      {"without_padding",
       "a * torch.tensor([[1, 1, 1], [0, 1, 1], [0, 1, 0]], dtype=double).reshape(3, 3, 1)",
       "any_(3, 3, 2)",
       [](In x) {
         return without_padding(x[0], Indices({3}, {1, 3, 2}));
       }},
      {"recurrent_rnn_norm", "recurrent('tanh', a, b, c, norm=(d, e), over_sum=True)",
       "any_(3, 2, 4) * 2, any_(4, 4), any_(2, 4), any_(4) / 2, any_(4) / 2",
       [](In x) {
         return everything(recurrent(
             Cell::rnn_tanh, x[0], x[1], {x[2], {}},
             {.product = {
                  .statistics = NormOptions{}, .over_sum = true, .gain = x[3], .bias = x[4]}}));
       },
       true, 2},
      {"recurrent_lstm", "recurrent('lstm', a, b, c, d)",
       "any_(3, 3, 8), any_(2, 8), any_(3, 2), any_(3, 2)",
       [](In x) {
         return everything(recurrent(Cell::lstm, x[0], x[1], {x[2], x[3]}));
       },
       true},
      {"recurrent_lstm_norm",
       "recurrent('lstm', a, b, c, d, norm=(e, f), cell_norm=(g, h), lengths=(2, 1, 2))",
       "any_(2, 3, 16), any_(4, 16), any_(3, 4) * 2, any_(3, 4) * 3, any_(16) / 2, any_(16) / 2, "
       "any_(4) / 2, any_(4) / 2",
       [](In x) {
         return everything(
             recurrent(Cell::lstm, x[0], x[1], {x[2], x[3]},
                       {.product = {.statistics = NormOptions{}, .gain = x[4], .bias = x[5]},
                        .cell = {.statistics = NormOptions{}, .gain = x[6], .bias = x[7]}},
                       Indices({3}, {2, 1, 2})));
       },
       true, 4},
      {"recurrent_gru", "recurrent('gru', a, b, c)", "any_(3, 3, 6), any_(2, 6), any_(3, 2)",
       [](In x) {
         return everything(recurrent(Cell::gru, x[0], x[1], {x[2], {}}));
       },
       true},
      {"recurrent_gru_norm", "recurrent('gru', a, b, c, norm=(d, e), parts=(4, 2))",
       "any_(3, 3, 6), any_(2, 6), any_(3, 2), any_(6), any_(6)",
       [](In x) {
         return everything(recurrent(
             Cell::gru, x[0], x[1], {x[2], {}},
             {.product = {
                  .statistics = NormOptions{}, .parts = {4, 2}, .gain = x[3], .bias = x[4]}}));
       },
       true, 2},
      {"recurrent_lstm_inputs",
       "recurrent('lstm', F.layer_norm(a, (16,)) * e + f, b, c, d, norm=(g, h), lengths=(2, 1, 2))",
       "any_(2, 3, 16), any_(4, 16), any_(3, 4) * 2, any_(3, 4) * 3, any_(16) / 2, any_(16) / 2, "
       "any_(16) / 2, any_(16) / 2",
       [](In x) {
         return everything(
             recurrent(Cell::lstm, x[0], x[1], {x[2], x[3]},
                       {.inputs = {.statistics = NormOptions{}, .gain = x[4], .bias = x[5]},
                        .product = {.statistics = NormOptions{}, .gain = x[6], .bias = x[7]}},
                       Indices({3}, {2, 1, 2})));
       },
       true, 4},
      {"recurrent_rnn_inputs",
       "recurrent('tanh', a / torch.sqrt((a ** 2).mean(-1, keepdim=True) + 1e-5) * d, b, c)",
       "any_(2, 2, 4), any_(4, 4), any_(2, 4), any_(4)",
       [](In x) {
         return everything(
             recurrent(Cell::rnn_tanh, x[0], x[1], {x[2], {}},
                       {.inputs = {.statistics = NormOptions{}, .centered = false, .gain = x[3]}}));
       },
       true, 1},
      {"recurrent_gru_inputs", "recurrent('gru', normalized_parts(a, (8, 4)) + d, b, c)",
       "any_(2, 3, 12), any_(4, 12), any_(3, 4), any_(12)",
       [](In x) {
         return everything(
             recurrent(Cell::gru, x[0], x[1], {x[2], {}},
                       {.inputs = {.statistics = NormOptions{}, .parts = {8, 4}, .bias = x[3]}}));
       },
       true, 1},
      {"recurrent_gru_reset_first", "recurrent('gru_reset_first', a, b, c)",
       "any_(3, 3, 6), any_(2, 6), any_(3, 2)",
       [](In x) {
         return everything(recurrent(Cell::gru_reset_first, x[0], x[1], {x[2], {}}));
       }},
      {"cumsum", "torch.cumsum(a, -1)", "any_(2, 3, 4)", [](In x) { return cumsum(x[0]); }},
      {"cumsum_middle", "torch.cumsum(a, 1)", "any_(2, 3, 4)",
       [](In x) { return cumsum(x[0], 1); }},
      {"sort", "torch.sort(a, -1).values", "spread(2, 3, 4)",
       [](In x) { return sort(x[0]).values; }},
      {"sort_descending", "torch.sort(a, 1, descending=True).values", "spread(2, 4, 3)",
       [](In x) { return sort(x[0], 1, true).values; }},
      {"top_k", "torch.topk(a, 2).values", "spread(3, 5)",
       [](In x) { return top_k(x[0], 2).values; }},
      {"top_k_first", "torch.topk(a, 2, 0).values", "spread(4, 3)",
       [](In x) { return top_k(x[0], 2, 0).values; }},
      {"prod", "a.prod(1)", "any_(2, 5, 3)", [](In x) { return prod(x[0], 1); }, true},
      {"prod_all", "torch.prod(a)", "any_(2, 3)", [](In x) { return prod(x[0]); }, true},
      {"prod_zeros", "a.prod(1)", "with_zeros", [](In x) { return prod(x[0], 1); }, true},
      {"cumprod", "torch.cumprod(a, -1)", "any_(2, 5)", [](In x) { return cumprod(x[0]); }, true},
      {"cumprod_zeros", "torch.cumprod(a, 1)", "with_zeros", [](In x) { return cumprod(x[0], 1); },
       true},
      {"flip", "a.flip((0, 2))", "any_(2, 3, 4)", [](In x) { return flip(x[0], ends); }},
      {"roll", "a.roll(2, 1)", "any_(2, 5, 3)", [](In x) { return roll(x[0], 2, 1); }},
      {"tile", "a.tile((2, 3, 1))", "any_(2, 3)",
       [](In x) {
         return tile(x[0], {2, 3, 1});
       }},
      {"repeat_interleave", "a.repeat_interleave(3, 1)", "any_(2, 3, 2)",
       [](In x) { return repeat_interleave(x[0], 3, 1); }},
      {"index_select", "a.index_select(1, torch.tensor([3, 0, 3]))", "any_(2, 4, 3)",
       [](In x) {
         return index_select(x[0], 1, Indices({3}, {3, 0, 3}));
       }},
      {"diagonal", "a.diagonal(0, -2, -1)", "any_(2, 3, 4)", [](In x) { return diagonal(x[0]); }},
      {"diagonal_offset", "a.diagonal(-1, -2, -1)", "any_(4, 3)",
       [](In x) { return diagonal(x[0], -1); }},
      {"diag", "torch.diag_embed(a)", "any_(2, 3)", [](In x) { return diag(x[0]); }},
      {"diag_offset", "torch.diag_embed(a, 1)", "any_(3)", [](In x) { return diag(x[0], 1); }},
  };
}

}  // namespace

const std::vector<Row>& table() {
  static const std::vector<Row> all = [] {
    std::vector<Row> joined = operation_rows();
    for (Row& row : indexing_rows()) joined.push_back(std::move(row));
    for (Row& row : windows_rows()) joined.push_back(std::move(row));
    for (Row& row : loss_rows()) joined.push_back(std::move(row));
    return joined;
  }();
  return all;
}

Golden golden(const Row& row) { return golden("ops.json", row.name); }

}  // namespace tapegrad::testing
