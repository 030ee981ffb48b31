#include "ops/table.h"

#include "tapegrad/ops/affine.h"
#include "tapegrad/ops/attention.h"
#include "tapegrad/ops/divisive.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/norm.h"
#include "tapegrad/ops/normalize.h"
#include "tapegrad/ops/order.h"
#include "tapegrad/ops/recurrent.h"
#include "tapegrad/ops/reduce.h"
#include "tapegrad/ops/softmax.h"

namespace tapegrad::testing {
namespace {

using In = const std::vector<Tensor>&;

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
  std::vector<Tensor> rows{result.outputs, stack({result.last.h})};
  if (result.last.c.defined()) rows.push_back(stack({result.last.c}));
  return concat(rows);
}

std::vector<Row> rows() {
  return {
      {"add", of(add)},
      {"sub", of(sub)},
      {"mul", of(mul)},
      {"div", of(div)},
      {"pow", of(pow)},
      {"minimum", of(minimum)},
      {"maximum", of(maximum)},
      {"neg", of(neg)},
      {"abs", of(abs)},
      {"sign", of(sign)},
      {"floor", of(floor)},
      {"ceil", of(ceil)},
      {"round", of(round)},
      {"exp", of(exp)},
      {"expm1", of(expm1)},
      {"log", of(log)},
      {"log1p", of(log1p)},
      {"sqrt", of(sqrt)},
      {"rsqrt", of(rsqrt)},
      {"square", of(square)},
      {"reciprocal", of(reciprocal)},
      {"sin", of(sin)},
      {"cos", of(cos)},
      {"tanh", of(tanh)},
      {"erf", of(erf)},
      {"sigmoid", of(sigmoid)},
      {"relu", of(relu)},
      {"leaky_relu", [](In x) { return leaky_relu(x[0], 0.2); }},
      {"elu", [](In x) { return elu(x[0], 0.7); }},
      {"gelu", of(gelu), true},
      {"gelu_tanh", of(gelu_tanh)},
      {"silu", of(silu)},
      {"softplus", of(softplus)},
      {"clamp", [](In x) { return clamp(x[0], -0.5, 1); }},
      {"where", [](In x) { return where(first_and_last, x[0], x[1]); }},
      {"masked_fill", [](In x) { return masked_fill(x[0], first_and_last, -7); }},
      {"sum", [](In x) { return sum(x[0], ends); }},
      {"mean", [](In x) { return mean(x[0], 1, Keep::yes); }},
      {"var",
       [](In x) {
         return var(x[0], {1, 2});
       }},
      {"var_unbiased", [](In x) { return var(x[0], 1, Keep::no, Variance::unbiased); }},
      {"stddev", [](In x) { return stddev(x[0], 0, Keep::no, Variance::unbiased); }},
      {"norm", [](In x) { return norm(x[0], 1); }},
      {"max", [](In x) { return max(x[0], ends); }},
      {"min", [](In x) { return min(x[0], 1); }},
      {"logsumexp", [](In x) { return logsumexp(x[0], ends); }},
      {"sum_to",
       [](In x) {
         return sum_to(x[0], {3, 1});
       }},
      {"reshape",
       [](In x) {
         return reshape(x[0], {4, -1});
       }},
      {"permute",
       [](In x) {
         return permute(x[0], {2, 0, 1});
       }},
      {"transpose", [](In x) { return transpose(x[0], 0, 2); }},
      {"slice", [](In x) { return slice(x[0], 1, 1, 4, 2); }},
      {"select", [](In x) { return select(x[0], -1, 1); }},
      {"concat",
       [](In x) {
         return concat({x[0], x[1], x[0]}, 1);
       }},
      {"stack",
       [](In x) {
         return stack({x[0], x[1]}, 1);
       }},
      {"split",
       [](In x) {
         return split(x[0], {1, 3}, 1)[1];
       }},
      {"broadcast_to",
       [](In x) {
         return broadcast_to(x[0], {4, 2, 3});
       }},
      {"pad",
       [](In x) {
         return pad(x[0], {{0, 2}, {1, 0}}, 0.5);
       }},
      {"tril", [](In x) { return tril(x[0], -1); }},
      {"triu", [](In x) { return triu(x[0], 1); }},
      {"matmul", [](In x) { return matmul(x[0], x[1]); }},
      {"linear", [](In x) { return linear(x[0], x[1], x[2]); }, true},
      {"linear_sequences", [](In x) { return linear(x[0], x[1], x[2]); }, true},
      {"matmul_batched", [](In x) { return matmul(x[0], x[1]); }},
      {"matmul_transposed", [](In x) { return matmul(x[0], x[1], {.a = true, .b = true}); }},
      {"matmul_rows", [](In x) { return matmul(x[0], x[1], {.b = true}); }},
      {"outer", of(outer)},
      {"embedding", [](In x) { return embedding(x[0], ids); }},
      {"gather", [](In x) { return gather(x[0], 1, columns); }},
      {"scatter_add",
       [](In x) {
         return scatter_add(x[0], 1, columns, {2, 4});
       }},
      {"pick", [](In x) { return pick(x[0], labels); }},
      {"take", [](In x) { return take(x[0], columns); }},
      {"put",
       [](In x) {
         return put(x[0], columns, {2, 4});
       }},
      {"softmax", [](In x) { return softmax(x[0]); }, true},
      {"softmax_middle", [](In x) { return softmax(x[0], 1); }, true},
      {"log_softmax", [](In x) { return log_softmax(x[0]); }, true},
      {"layer_norm", [](In x) { return layer_norm(x[0]); }, true},
      {"affine", [](In x) { return affine(x[0], x[1], x[2]); }, true, 1},
      {"affine_norm", [](In x) { return affine_norm(x[0], both({.axes = {-1}}), x[1], x[2]); },
       true, 1},
      {"affine_norm_rms",
       [](In x) { return affine_norm(x[0], {.center = {}, .scale = {.axes = {-1}}}, x[1], {}); },
       true},
      {"affine_norm_columns",
       [](In x) { return affine_norm(x[0], both({.axes = {0}}), x[1], x[2]); }, true, 1},
      {"affine_gain", [](In x) { return affine(x[0], x[1], {}); }, true},
      {"layer_norm_detached_mean", [](In x) { return layer_norm(x[0], {.detach_mean = true}); },
       true},
      {"layer_norm_detached_scale", [](In x) { return layer_norm(x[0], {.detach_scale = true}); },
       true},
      {"layer_norm_detached",
       [](In x) { return layer_norm(x[0], {.detach_mean = true, .detach_scale = true}); }, true},
      {"layer_norm_outside", [](In x) { return layer_norm(x[0], outside_unbiased); }, true},
      {"rms_norm", [](In x) { return rms_norm(x[0]); }, true},
      {"rms_norm_outside", [](In x) { return rms_norm(x[0], {.place = Epsilon::outside_root}); },
       true},
      {"rms_norm_partial",
       [](In x) { return normalize(x[0], {.center = {}, .scale = {.axes = {-1}, .share = 0.5}}); }},
      {"normalize_batch",
       [](In x) {
         return normalize(x[0], both({.axes = {0, 2, 3}}));
       },
       true},
      {"normalize_batch_features", [](In x) { return normalize(x[0], both({.axes = {0}})); }, true},
      {"normalize_instance",
       [](In x) {
         return normalize(x[0], both({.axes = {2, 3}}));
       },
       true},
      {"normalize_groups",
       [](In x) {
         return normalize(x[0], both({.axes = {1, 2, 3}, .groups = 2}));
       },
       true},
      {"normalize_detached",
       [](In x) {
         return normalize(x[0], both({.axes = {1, 2, 3}, .groups = 2}), {.detach_scale = true});
       },
       true},
      {"normalize_two_fields",
       [](In x) {
         return normalize(x[0], {.center = NormField{.axes = {1}}, .scale = {.axes = {2, 3}}});
       }},
      {"normalize_window",
       [](In x) {
         return normalize(x[0], both({.axes = {1}, .window = {2, 3}, .radius = 1}));
       }},
      {"normalize", [](In x) { return normalize(x[0], both({.axes = {-1}}), {}, x[1]); }, false, 1},
      {"ada_scale", [](In x) { return ada_scale(x[0], {.factor = 2, .detach_factor = false}); }},
      {"ada_scale_detached", [](In x) { return ada_scale(x[0]); }},
      {"centered_l1", [](In x) { return centered_l1(x[0], {.axes = {-1}}); }},
      {"divisive_norm", [](In x) { return divisive_norm(x[0], x[1], square(x[2])); }},
      {"divisive_norm_cubic",
       [](In x) {
         return divisive_norm(x[0], x[1], square(x[2]), {.smoothing = 0.7, .exponent = 3});
       }},
      {"weight_norm", [](In x) { return weight_norm(x[0], x[1], 0); }},
      {"attention", [](In x) { return attention(x[0], x[1], x[2]); }, true},
      {"attention_causal",
       [](In x) { return attention(x[0], x[1], x[2], {.heads = 2, .causal = true}); }, true},
      {"attention_masked",
       [](In x) {
         return attention(x[0], x[1], x[2],
                          {.heads = 2,
                           .scale = 0.3,
                           .mask = Tensor({2, 1, 1, 4}, {1, 1, 0, 1, 0, 1, 1, 0}),
                           .bias = Tensor({2, 1, 4}, {0, 1, 2, 3, 1, -1, 0, 0.5})});
       },
       true},
      {"attention_bias",
       [](In x) { return attention(x[0], x[1], x[2], {.heads = 2, .bias = x[3]}); }, false, 1},
      {"self_attention", [](In x) { return self_attention(x[0], {.heads = 2, .causal = true}); },
       true},
      {"rotary", [](In x) { return rotary(x[0], 2, 3); }},
      {"relative_shift", [](In x) { return relative_shift(x[0]); }},
      {"recurrent",
       [](In x) {
         return everything(recurrent(Cell::rnn_tanh, x[0], x[1], {x[2], {}}));
       },
       true},
      {"recurrent_relu_lengths",
       [](In x) {
         return everything(
             recurrent(Cell::rnn_relu, x[0], x[1], {x[2], {}}, {}, Indices({3}, {1, 3, 2})));
       },
       true},
      {"without_padding",
       [](In x) {
         return without_padding(x[0], Indices({3}, {1, 3, 2}));
       }},
      {"recurrent_rnn_norm",
       [](In x) {
         return everything(recurrent(
             Cell::rnn_tanh, x[0], x[1], {x[2], {}},
             {.product = {
                  .statistics = NormOptions{}, .over_sum = true, .gain = x[3], .bias = x[4]}}));
       },
       true, 2},
      {"recurrent_lstm",
       [](In x) {
         return everything(recurrent(Cell::lstm, x[0], x[1], {x[2], x[3]}));
       },
       true},
      {"recurrent_lstm_norm",
       [](In x) {
         return everything(
             recurrent(Cell::lstm, x[0], x[1], {x[2], x[3]},
                       {.product = {.statistics = NormOptions{}, .gain = x[4], .bias = x[5]},
                        .cell = {.statistics = NormOptions{}, .gain = x[6], .bias = x[7]}},
                       Indices({3}, {2, 1, 2})));
       },
       true, 4},
      {"recurrent_gru",
       [](In x) {
         return everything(recurrent(Cell::gru, x[0], x[1], {x[2], {}}));
       },
       true},
      {"recurrent_gru_norm",
       [](In x) {
         return everything(recurrent(
             Cell::gru, x[0], x[1], {x[2], {}},
             {.product = {
                  .statistics = NormOptions{}, .parts = {4, 2}, .gain = x[3], .bias = x[4]}}));
       },
       true, 2},
      {"recurrent_lstm_inputs",
       [](In x) {
         return everything(
             recurrent(Cell::lstm, x[0], x[1], {x[2], x[3]},
                       {.inputs = {.statistics = NormOptions{}, .gain = x[4], .bias = x[5]},
                        .product = {.statistics = NormOptions{}, .gain = x[6], .bias = x[7]}},
                       Indices({3}, {2, 1, 2})));
       },
       true, 4},
      {"recurrent_rnn_inputs",
       [](In x) {
         return everything(
             recurrent(Cell::rnn_tanh, x[0], x[1], {x[2], {}},
                       {.inputs = {.statistics = NormOptions{}, .centered = false, .gain = x[3]}}));
       },
       true, 1},
      {"recurrent_gru_inputs",
       [](In x) {
         return everything(
             recurrent(Cell::gru, x[0], x[1], {x[2], {}},
                       {.inputs = {.statistics = NormOptions{}, .parts = {8, 4}, .bias = x[3]}}));
       },
       true, 1},
      {"recurrent_gru_reset_first",
       [](In x) {
         return everything(recurrent(Cell::gru_reset_first, x[0], x[1], {x[2], {}}));
       }},
      {"cumsum", [](In x) { return cumsum(x[0]); }},
      {"cumsum_middle", [](In x) { return cumsum(x[0], 1); }},
      {"sort", [](In x) { return sort(x[0]).values; }},
      {"sort_descending", [](In x) { return sort(x[0], 1, true).values; }},
      {"top_k", [](In x) { return top_k(x[0], 2).values; }},
      {"top_k_first", [](In x) { return top_k(x[0], 2, 0).values; }},
      {"prod", [](In x) { return prod(x[0], 1); }},
      {"prod_all", [](In x) { return prod(x[0]); }},
      {"prod_zeros", [](In x) { return prod(x[0], 1); }},
      {"cumprod", [](In x) { return cumprod(x[0]); }},
      {"cumprod_zeros", [](In x) { return cumprod(x[0], 1); }},
      {"flip", [](In x) { return flip(x[0], ends); }},
      {"roll", [](In x) { return roll(x[0], 2, 1); }},
      {"tile",
       [](In x) {
         return tile(x[0], {2, 3, 1});
       }},
      {"repeat_interleave", [](In x) { return repeat_interleave(x[0], 3, 1); }},
      {"index_select",
       [](In x) {
         return index_select(x[0], 1, Indices({3}, {3, 0, 3}));
       }},
      {"diagonal", [](In x) { return diagonal(x[0]); }},
      {"diagonal_offset", [](In x) { return diagonal(x[0], -1); }},
      {"diag", [](In x) { return diag(x[0]); }},
      {"diag_offset", [](In x) { return diag(x[0], 1); }},
  };
}

}  // namespace

const std::vector<Row>& table() {
  static const std::vector<Row> all = [] {
    std::vector<Row> joined = rows();
    for (Row& row : indexing_rows()) joined.push_back(std::move(row));
    for (Row& row : windows_rows()) joined.push_back(std::move(row));
    for (Row& row : loss_rows()) joined.push_back(std::move(row));
    for (Row& row : zoo_rows()) joined.push_back(std::move(row));
    return joined;
  }();
  return all;
}

Golden golden(const Row& row) { return golden(row.file, row.name); }

}  // namespace tapegrad::testing
