#include "tapegrad/nn/layers/attention.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tapegrad/core/error.h"
#include "tapegrad/core/options.h"
#include "tapegrad/nn/pytorch.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/softmax.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// Returns `o` if it suits a layer with that many channels.
const AttentionLayerOptions& checked(const char* layer, Index channels,
                                     const AttentionLayerOptions& o) {
  expect_positive(layer, "channels", channels);
  expect<ArgumentError>(o.heads >= 1 && channels % o.heads == 0,
                        "{}: {} heads do not divide {} channels", layer, o.heads, channels);
  expect_share(layer, "dropout", o.dropout);
  return o;
}

LinearOptions linear(const AttentionLayerOptions& o) {
  return {.bias = o.bias, .weight_norm = o.weight_norm};
}

AttentionOptions in_mode(const AttentionLayerOptions& o, const Tensor& mask, Mode mode) {
  return {.heads = o.heads,
          .causal = o.causal,
          .mask = mask,
          .dropout = mode.is_training() ? o.dropout : 0,
          .random = mode.random};
}

std::vector<Tensor> parts(const Tensor& x, Index count) {
  const Index channels = x.shape()[-1] / count;
  return split(x, std::vector<Index>(static_cast<std::size_t>(count), channels), -1);
}

// nn.MultiheadAttention has a single projection: ours, concatenated and transposed.
void attention_as_pytorch(PyTorchState& state, std::vector<Linear> projections,
                          const Linear& output) {
  if (output.gain.defined()) state.no_counterpart("attention with normalized weights");
  std::vector<Tensor> weights, biases;
  std::vector<Index> sizes;
  for (const Linear& each : projections) {
    weights.push_back(transpose(each.weight.value()));
    sizes.push_back(each.weight.shape()[1]);
    if (each.bias.defined()) biases.push_back(each.bias.value());
  }
  state.tensor("in_proj_weight", concat(weights), [=](const Tensor& loaded) mutable {
    const std::vector<Tensor> p = split(loaded, sizes, 0);
    for (std::size_t i = 0; i < p.size(); ++i) projections[i].weight.set(transpose(p[i]));
  });
  if (!biases.empty())
    state.tensor("in_proj_bias", concat(biases), [=](const Tensor& loaded) mutable {
      const std::vector<Tensor> p = split(loaded, sizes, 0);
      for (std::size_t i = 0; i < p.size(); ++i) projections[i].bias.set(p[i]);
    });
  state("out_proj", output);
}

void write_at(Tensor& x, Index position, const Tensor& next) {
  const Index count = next.shape()[1] * x.shape()[2];
  for (Index b = 0; b < x.shape()[0]; ++b)
    std::copy_n(next.data() + b * count, count,
                x.mutable_data() + (b * x.shape()[1] + position) * x.shape()[2]);
}

// The first `used` positions of x, (B, T, C), in a tensor of `positions`.
Tensor with_room(const Tensor& x, Index used, Index positions) {
  Tensor larger = Tensor::uninitialized(x.shape().with(1, positions));
  write_at(larger, 0, slice(x, 1, 0, used));
  return larger;
}

}  // namespace

Tensor with_memory(const Tensor& before, const Tensor& x) {
  expect_defined("with_memory", x);
  return before.defined() ? concat({before, x}, 1) : x;
}

void AttentionCache::append(const Tensor& next_keys, const Tensor& next_values) {
  expect_defined("AttentionCache", next_keys, next_values);
  const Shape &next = next_keys.shape(), &known = keys.defined() ? keys.shape() : next;
  expect<ShapeError>(
      next.rank() == 3 && next_values.shape() == next && known.with(1, next[1]) == next,
      "AttentionCache: keys {} and values {} are not both (B, T, C), beside a cache of {}", next,
      next_values.shape(), known);
  const Index used = length(), count = next[1];
  const auto takes = [&](const Tensor& x, const Tensor& after) {
    return x.unique() && x.tape_id() == 0 && after.tape_id() == 0 && x.shape() == keys.shape();
  };
  if (!takes(keys, next_keys) || !takes(values, next_values)) {
    const auto seen = [&](const Tensor& x) { return room > 0 ? slice(x, 1, 0, used) : x; };
    *this = {with_memory(seen(keys), next_keys), with_memory(seen(values), next_values),
             memory_keys, memory_values, 0};
    return;
  }
  if (room < count) {
    room = used + 2 * count;
    for (Tensor* x : {&keys, &values}) *x = with_room(*x, used, used + room);
  }
  write_at(keys, used, next_keys);
  write_at(values, used, next_values);
  room -= count;
}

void AttentionCache::select(const Indices& rows, bool keep_memory) {
  const auto take = [&](Tensor& x) { x = x.defined() ? embedding(x, rows) : x; };
  take(keys), take(values);
  if (!keep_memory) take(memory_keys), take(memory_values);
}

Tensor alibi_bias(Index heads, Index queries, Index keys) {
  Indices positions = Indices::uninitialized({1, keys});
  std::iota(positions.mutable_data(), positions.mutable_data() + keys, 0);
  return select(alibi_bias(heads, queries, positions), 0);
}

Tensor alibi_bias(Index heads, Index queries, const Indices& positions) {
  expect_positive("alibi_bias", "heads", heads);
  expect_defined("alibi_bias", positions);
  expect(positions.shape().rank() == 2, "alibi_bias: positions must be (B, keys): {}",
         positions.shape());
  const Index batch = positions.shape()[0], keys = positions.shape()[1];
  expect<ArgumentError>(queries <= keys, "alibi_bias: more queries than keys: {} and {}", queries,
                        keys);
  Tensor bias = Tensor::uninitialized({batch, heads, queries, keys});
  real* out = bias.mutable_data();
  for (Index b = 0; b < batch; ++b) {
    const Index* at = positions.data() + b * keys;
    for (Index h = 0; h < heads; ++h) {
      const double slope = std::exp2(-8 * static_cast<double>(h + 1) / static_cast<double>(heads));
      for (Index i = keys - queries; i < keys; ++i)
        for (Index j = 0; j < keys; ++j)
          *out++ = static_cast<real>(-slope * static_cast<double>(at[i] - at[j]));
    }
  }
  return bias;
}

void expect_positions(const char* owner, const Indices& positions, Index batch, Index keys) {
  expect(positions.shape() == Shape{batch, keys},
         "{}: needs a position for each of the keys, {}: {}", owner, Shape{batch, keys},
         positions.shape());
  for (const Index position : positions.values())
    expect(position >= 0, "{}: a position must not be negative: {}", owner, position);
}

Indices last_columns(const Indices& rows, Index count) {
  expect_defined("last_columns", rows);
  expect(rows.shape().rank() == 2 && count >= 0 && count <= rows.shape()[1],
         "last_columns: needs (B, T) with at least {} columns: {}", count, rows.shape());
  Indices columns = Indices::uninitialized({rows.shape()[0], count});
  Index* out = columns.mutable_data();
  for (Index b = 1; b <= rows.shape()[0]; ++b)
    out = std::copy_n(rows.data() + b * rows.shape()[1] - count, count, out);
  return columns;
}

SelfAttention::SelfAttention(Index channels, Random& random, const AttentionLayerOptions& o)
    : options(checked("SelfAttention", channels, o)),
      projection(channels, 3 * channels, random, linear(o)),
      output(channels, channels, random, linear(o)) {
  expect<ArgumentError>(!o.rotary || channels / o.heads % 2 == 0,
                        "SelfAttention: rotary needs an even number of channels per head: {}",
                        channels / o.heads);
}

Tensor SelfAttention::operator()(const Tensor& x, const Tensor& mask, Mode mode,
                                 AttentionCache* cache, const Indices& positions,
                                 Place place) const {
  const PlaceScope caller(place);
  AttentionOptions o = in_mode(options, mask, mode);
  const Tensor projected = projection(x);
  const Index before = cache == nullptr ? 0 : cache->length(), count = x.shape()[1];
  if (positions.defined())
    expect_positions("SelfAttention", positions, x.shape()[0], before + count);
  if (options.alibi)
    o.bias = positions.defined() ? alibi_bias(options.heads, count, positions)
                                 : alibi_bias(options.heads, count, before + count);
  if (cache == nullptr && !options.rotary) return output(self_attention(projected, o));

  std::vector<Tensor> p = parts(projected, 3);
  if (options.rotary)
    for (const int i : {0, 1})
      p[i] = positions.defined() ? rotary(p[i], options.heads, last_columns(positions, count))
                                 : rotary(p[i], options.heads, before);
  if (cache == nullptr) return output(attention(p[0], p[1], p[2], o));
  cache->append(p[1], p[2]);
  if (cache->room > 0) o.keys = cache->length();
  return output(attention(p[0], cache->keys, cache->values, o));
}

void SelfAttention::pytorch(PyTorchState& state) const {
  attention_as_pytorch(state, {projection}, output);
}

CrossAttention::CrossAttention(Index channels, Random& random, const AttentionLayerOptions& o)
    : options(checked("CrossAttention", channels, o)),
      query(channels, channels, random, linear(o)),
      key_value(channels, 2 * channels, random, linear(o)),
      output(channels, channels, random, linear(o)) {
  expect_default("CrossAttention", "causal", o.causal);
  expect_default("CrossAttention", "rotary", o.rotary);
  expect_default("CrossAttention", "alibi", o.alibi);
}

Tensor CrossAttention::operator()(const Tensor& x, const Tensor& memory, const Tensor& mask,
                                  Mode mode, AttentionCache* cache, Place place) const {
  const PlaceScope caller(place);
  const bool is_cached = cache != nullptr && cache->memory_keys.defined();
  const std::vector<Tensor> p = is_cached ? std::vector{cache->memory_keys, cache->memory_values}
                                          : parts(key_value(memory), 2);
  if (cache != nullptr) cache->memory_keys = p[0], cache->memory_values = p[1];
  return output(attention(query(x), p[0], p[1], in_mode(options, mask, mode)));
}

Tensor CrossAttention::weights(const Tensor& x, const Tensor& memory, const Tensor& mask) const {
  const Index width = x.shape()[-1] / options.heads;
  const auto by_head = [&](const Tensor& y) {
    return permute(reshape(y, {y.shape()[0], y.shape()[1], options.heads, width}), {0, 2, 1, 3});
  };
  const Tensor keys = parts(key_value(memory), 2)[0];
  const Tensor scores =
      matmul(by_head(query(x)), by_head(keys), {.b = true}) / std::sqrt(static_cast<double>(width));
  return softmax(mask.defined() ? where(mask, scores, -1e30) : scores);
}

void CrossAttention::pytorch(PyTorchState& state) const {
  attention_as_pytorch(state, {query, key_value}, output);
}

RelativeAttention::RelativeAttention(Index channels, Random& random, const AttentionLayerOptions& o)
    : options(checked("RelativeAttention", channels, o)),
      query(channels, channels, random, linear(o)),
      key_value(channels, 2 * channels, random, linear(o)),
      position(channels, channels, random, {.bias = false, .weight_norm = o.weight_norm}),
      output(channels, channels, random, linear(o)),
      content_bias(zeros({channels})),
      position_bias(zeros({channels})) {
  expect_sinusoids("RelativeAttention", channels);
  expect_default("RelativeAttention", "causal", o.causal);
  expect_default("RelativeAttention", "rotary", o.rotary);
  expect_default("RelativeAttention", "alibi", o.alibi);
}

Tensor RelativeAttention::operator()(const Tensor& x, const Tensor& context, Mode mode,
                                     Place place) const {
  const OperationScope scope("relative_attention", place, x, context);
  const Index heads = options.heads, channels = x.shape()[-1], width = channels / heads;
  const Index count = x.shape()[1], keys = context.shape()[1];
  const std::vector<Tensor> p = parts(key_value(context), 2);
  const Tensor q = query(x);
  const double scale = 1 / std::sqrt(static_cast<double>(width));
  const Tensor turned =
      permute(reshape(q + position_bias, {x.shape()[0], count, heads, width}), {0, 2, 1, 3});
  // From the farthest position to the nearest.
  const Tensor distances = position(sinusoids(keys, channels, keys - 1, -1));
  const Tensor by_distance =
      matmul(turned, permute(reshape(distances, {keys, heads, width}), {1, 2, 0}));
  AttentionOptions o = in_mode(options, {}, mode);
  o.causal = true;
  o.bias = relative_shift(by_distance) * scale;
  return output(attention(q + content_bias, p[0], p[1], o));
}

void RelativeAttention::visit(Fields& field) const {
  field("query", query);
  field("key_value", key_value);
  field("position", position);
  field("output", output);
  field("content_bias", content_bias);
  field("position_bias", position_bias);
}

void expect_sinusoids(const char* owner, Index channels) {
  expect<ArgumentError>(channels >= 4 && channels % 2 == 0,
                        "{}: sines and cosines need an even number of channels, at least 4: {}",
                        owner, channels);
}

Tensor sinusoids(Index count, Index channels, Index first, Index step) {
  expect_sinusoids("sinusoids", channels);
  Tensor table = Tensor::uninitialized({count, channels});
  const Index half = channels / 2;
  for (Index t = 0; t < count; ++t)
    for (Index i = 0; i < half; ++i) {
      const double frequency =
          std::pow(1e4, -static_cast<double>(i) / static_cast<double>(half - 1));
      const double angle = static_cast<double>(first + t * step) * frequency;
      table.mutable_data()[t * channels + i] = static_cast<real>(std::sin(angle));
      table.mutable_data()[t * channels + half + i] = static_cast<real>(std::cos(angle));
    }
  return table;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
