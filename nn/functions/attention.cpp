#include "tapegrad/nn/functions/attention.h"

#include <cmath>
#include <limits>
#include <optional>

#include "tapegrad/core/error.h"
#include "tapegrad/core/options.h"
#include "tapegrad/core/precision.h"
#include "tapegrad/nn/functions/internal/dropout.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/internal/fused.h"
#include "tapegrad/ops/kernels/attention.h"
#include "tapegrad/ops/kernels/rotary.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/softmax.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// (B, T, C) as (B, heads, T, C / heads), and back.
Tensor split_heads(const Tensor& x, Index heads) {
  const Shape& s = x.shape();
  return permute(reshape(x, {s[0], s[1], heads, s[2] / heads}), {0, 2, 1, 3});
}
Tensor merge_heads(const Tensor& x) {
  const Shape& s = x.shape();
  return reshape(permute(x, {0, 2, 1, 3}), {s[0], s[2], s[1] * s[3]});
}

double scale_of(const AttentionOptions& options, Index width) {
  return options.scale != 0 ? options.scale : 1 / std::sqrt(static_cast<double>(width));
}

// 1 where query i may see key j.
Tensor causal_mask(Index queries, Index keys) {
  return tril(ones({queries, keys}), keys - queries);
}

void expect_options(const AttentionOptions& o, const Shape& q, const Shape& k, const Shape& v) {
  expect(q.rank() == 3 && k.rank() == 3 && k == v && q[0] == k[0] && q[2] == k[2],
         "attention: needs queries (B, Tq, C) and keys and values (B, Tk, C): {}, {}, {}", q, k, v);
  expect<ArgumentError>(o.heads >= 1 && q[2] % o.heads == 0,
                        "attention: {} heads do not divide {} channels", o.heads, q[2]);
  expect<ArgumentError>(o.keys >= 0 && o.keys <= k[1], "attention: {} keys of {}", o.keys, k[1]);
  const Shape scores{q[0], o.heads, q[1], o.keys > 0 ? o.keys : k[1]};
  for (const Tensor& term : {o.mask, o.bias})
    expect(!term.defined() || broadcast("attention", term.shape(), scores) == scores,
           "attention: mask and bias must broadcast to the scores {}: {}", scores, term.shape());
  expect<ArgumentError>(o.dropout >= 0 && o.dropout < 1,
                        "attention: the rate of dropout must lie in [0, 1): {}", o.dropout);
  expect<ArgumentError>(std::isfinite(o.scale), "attention: the scale must be finite: {}", o.scale);
  expect<ArgumentError>(o.dropout == 0 || o.random != nullptr,
                        "attention: dropout needs random numbers");
}

// A tensor with the strides that broadcast it to the scores.
kernels::ScoreTerm term(const Tensor& x) {
  if (!x.defined()) return {};
  Index strides[4] = {};
  Index stride = 1;
  for (int back = 1; back <= x.rank(); ++back) {
    if (x.shape()[-back] != 1) strides[4 - back] = stride;
    stride *= x.shape()[-back];
  }
  return {x.data(), strides[0], strides[1], strides[2], strides[3]};
}

// Heads side by side in the rows of x: (B, T, stride).
kernels::Heads<const real> heads_in(const Tensor& x, Index first_channel = 0) {
  const Index stride = x.shape()[2];
  return {x.data() + first_channel, stride, x.shape()[1] * stride};
}

// Three tensors with heads side by side: separate ones, or parts of one projection.
struct Projections {
  Tensor q, k, v;
  bool packed;  // q holds all three

  Index channels() const { return q.shape()[2] / (packed ? 3 : 1); }
  Index queries() const { return q.shape()[1]; }
  Index keys(const AttentionOptions& o) const {
    return o.keys > 0 ? o.keys : (packed ? q : k).shape()[1];
  }
  kernels::Heads<const real> heads(int i) const {
    return packed ? heads_in(q, i * channels()) : heads_in(i == 0 ? q : i == 1 ? k : v);
  }
};

// The weights that dropout keeps; nothing without dropout.
using Kept = std::optional<Choices>;

Kept draw(const Projections& p, const AttentionOptions& o) {
  if (o.dropout == 0) return {};
  return o.random->choices(p.q.shape()[0] * o.heads * p.queries() * p.keys(o), 1 - o.dropout);
}

Tensor defined(const Tensor& q, const Tensor& all_k, const Tensor& all_v, const AttentionOptions& o,
               const Kept& kept) {
  const Tensor k = o.keys > 0 ? slice(all_k, 1, 0, o.keys) : all_k;
  const Tensor v = o.keys > 0 ? slice(all_v, 1, 0, o.keys) : all_v;
  const Tensor queries = split_heads(q, o.heads), keys = split_heads(k, o.heads);
  Tensor scores = matmul(queries, keys, {.b = true}) * scale_of(o, queries.shape()[-1]);
  Tensor allowed = o.mask;
  const auto only = [&](const Tensor& seen) {
    allowed = allowed.defined() ? logical_and(allowed, seen) : seen;
  };
  if (o.bias.defined()) {
    scores = scores + o.bias;
    only(not_equal(o.bias, -std::numeric_limits<double>::infinity()));
  }
  if (o.causal) only(causal_mask(q.shape()[1], k.shape()[1]));
  Tensor weights;
  if (allowed.defined())  // the second choice makes queries without keys 0
    weights = where(allowed, tapegrad::softmax(where(allowed, scores, -1e30)), 0.0);
  else
    weights = tapegrad::softmax(scores);
  if (kept) weights = dropout_by(*kept, weights, o.dropout);
  return merge_heads(matmul(weights, split_heads(v, o.heads)));
}

// The kernels applied to tensors, shared by all forms of attention.
class Heads {
 public:
  Heads(const AttentionOptions& options, Kept kept) : options_(options), kept_(kept) {}

  Tensor definition(const Tensor& q, const Tensor& k, const Tensor& v) const {
    const PrecisionScope scope(precision_);
    return defined(q, k, v, options_, kept_);
  }
  Tensor forward(const Projections& p) {
    const kernels::Attention a = sizes(p);
    rows_ = Tensor::uninitialized({a.batch, a.heads, a.queries, 2});
    Tensor out = Tensor::uninitialized({a.batch, a.queries, p.channels()});
    kernels::attention_forward(a, p.heads(0), p.heads(1), p.heads(2),
                               {out.mutable_data(), p.channels(), p.queries() * p.channels()},
                               reinterpret_cast<kernels::SoftmaxRow*>(rows_.mutable_data()));
    return out;
  }
  // The gradients of the three tensors, or of the one that holds them.
  Projections backward(const Projections& p, const Tensor& out, const Tensor& g) const {
    Projections d{Tensor::uninitialized(p.q.shape()), {}, {}, p.packed};
    if (!p.packed) {
      for (Tensor* x : {&d.k, &d.v})  // the kernel writes nothing behind the keys that are used
        *x = options_.keys > 0 ? zeros(p.k.shape()) : Tensor::uninitialized(p.k.shape());
    }
    const auto writable = [&](int i) {
      const auto [values, stride, batch_stride] = d.heads(i);
      return kernels::Heads<real>{const_cast<real*>(values), stride, batch_stride};
    };
    kernels::attention_backward(sizes(p), p.heads(0), p.heads(1), p.heads(2), heads_in(out),
                                reinterpret_cast<const kernels::SoftmaxRow*>(rows_.data()),
                                heads_in(g), writable(0), writable(1), writable(2));
    return d;
  }

 private:
  kernels::Attention sizes(const Projections& p) const {
    const Index width = p.channels() / options_.heads;
    return {.batch = p.q.shape()[0],
            .heads = options_.heads,
            .queries = p.queries(),
            .keys = p.keys(options_),
            .width = width,
            .causal = options_.causal,
            .scale = static_cast<real>(scale_of(options_, width)),
            .bias = term(options_.bias),
            .mask = term(options_.mask),
            .kept = kept_,
            .kept_factor = static_cast<real>(1 / (1 - options_.dropout)),
            .precision = precision_};
  }

  AttentionOptions options_;
  Kept kept_;
  Precision precision_ = PrecisionScope::active();
  Tensor rows_;  // (B, heads, Tq, 2), as in kernels::SoftmaxRow
};

// Attention of separate queries, keys and values.
struct Attention {
  static constexpr const char* name = "attention";
  Heads heads;

  static Projections projections(const Operands<3>& in) { return {in[0], in[1], in[2], false}; }
  Tensor definition(const Operands<3>& in) const { return heads.definition(in[0], in[1], in[2]); }
  Tensor value(const Operands<3>& in) { return heads.forward(projections(in)); }
  Gradients<3> gradients(const Operands<3>& in, const Tensor& g, const Tensor& y,
                         const Wanted<3>&) const {
    const Projections d = heads.backward(projections(in), y, g);
    return {d.q, d.k, d.v};
  }
};

// Attention of the three side by side.
struct PackedAttention {
  static constexpr const char* name = "self_attention";
  Heads heads;

  static Projections projections(const Operands<1>& in) { return {in[0], {}, {}, true}; }
  Tensor definition(const Operands<1>& in) const {
    const Index channels = in[0].shape()[-1] / 3;
    const std::vector<Tensor> parts = split(in[0], {channels, channels, channels}, -1);
    return heads.definition(parts[0], parts[1], parts[2]);
  }
  Tensor value(const Operands<1>& in) { return heads.forward(projections(in)); }
  Gradients<1> gradients(const Operands<1>& in, const Tensor& g, const Tensor& y,
                         const Wanted<1>&) const {
    return {heads.backward(projections(in), y, g).q};
  }
};

// The kernels treat a bias as a constant.
bool has_kernel(const AttentionOptions& o) { return !o.bias.defined() || o.bias.tape_id() == 0; }

template <class Operation, std::size_t N>
Tensor attend(const Operands<N>& in, const AttentionOptions& options, const Place& place) {
  const PlaceScope caller(place);
  const Operation operation{{options, draw(Operation::projections(in), options)}};
  return has_kernel(options) ? fused(operation, in, place) : operation.definition(in);
}

}  // namespace

Tensor composite::attention(const Tensor& q, const Tensor& k, const Tensor& v,
                            const AttentionOptions& o) {
  expect_defined("attention", q, k, v);
  expect_options(o, q.shape(), k.shape(), v.shape());
  return defined(q, k, v, o, draw({q, k, v, false}, o));
}

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options,
                 Place place) {
  const OperationScope scope("attention", place, q, k, v);
  expect_options(options, q.shape(), k.shape(), v.shape());
  return attend<Attention>(Operands<3>{q, k, v}, options, place);
}

Tensor self_attention(const Tensor& projected, const AttentionOptions& options, Place place) {
  const OperationScope scope("self_attention", place, projected);
  expect(projected.rank() == 3 && projected.shape()[2] % 3 == 0,
         "self_attention: needs queries, keys and values side by side, (B, T, 3 C): {}",
         projected.shape());
  expect_default("self_attention", "keys", options.keys);
  const Shape one = projected.shape().with(2, projected.shape()[2] / 3);
  expect_options(options, one, one, one);
  return attend<PackedAttention>(Operands<1>{projected}, options, place);
}

namespace {

// The angles of `rotary`. Without positions, they ascend from `first`.
struct Angles {
  Index heads;
  Index first = 0;
  Indices positions = {};
  double base;
};

Tensor turned(const Tensor& x, const Angles& angles, double direction) {
  const Shape& shape = x.shape();
  Tensor y = Tensor::uninitialized(shape);
  kernels::rotate({.batch = shape[0],
                   .steps = shape[1],
                   .heads = angles.heads,
                   .channels = shape[2],
                   .first = angles.first,
                   .positions = angles.positions.data(),
                   .base = angles.base},
                  direction, x.data(), y.mutable_data());
  return y;
}

Tensor rotate(const Tensor& x, const Angles& angles, double direction, Place place) {
  const PlaceScope caller(place);
  return record("rotary", turned(x, angles, direction), place,
                edge(x, [=](const Tensor& g) {  // a rotation's transpose rotates back
                  return rotate(g, angles, -direction, {});
                }));
}

Tensor checked_rotate(const Tensor& x, const Angles& angles, Place place) {
  expect(x.rank() == 3 && angles.heads >= 1 && x.shape()[2] % (2 * angles.heads) == 0,
         "rotary: needs (B, T, C) with {} heads of an even number of channels: {}", angles.heads,
         x.shape());
  expect<ArgumentError>(angles.base > 0 && std::isfinite(angles.base),
                        "rotary: the base must be finite and positive: {}", angles.base);
  return rotate(x, angles, 1, place);
}

}  // namespace

Tensor rotary(const Tensor& x, Index heads, Index first, double base, Place place) {
  const OperationScope scope("rotary", place, x);
  return checked_rotate(x, {.heads = heads, .first = first, .base = base}, place);
}

Tensor rotary(const Tensor& x, Index heads, const Indices& positions, double base, Place place) {
  const OperationScope scope("rotary", place, x);
  expect_defined("rotary", positions);
  expect(x.rank() == 3 && positions.shape() == Shape{x.shape()[0], x.shape()[1]},
         "rotary: needs a position for each row of channels, (B, T): {} for {}", positions.shape(),
         x.shape());
  return checked_rotate(x, {.heads = heads, .positions = positions, .base = base}, place);
}

Tensor relative_shift(const Tensor& scores, Place place) {
  const OperationScope scope("relative_shift", place, scores);
  expect(scores.rank() >= 2, "relative_shift: needs scores (..., T, R): {}", scores.shape());
  const Shape& shape = scores.shape();
  const Index rows = shape[-2], columns = shape[-1];
  // Prepends a column of zeros, so that each row begins one element later.
  const Tensor padded = pad(scores, {{1, 0}});
  const Tensor slanted = reshape(padded, shape.with(-1, rows).with(-2, columns + 1));
  return reshape(slice(slanted, -2, 1, columns + 1), shape);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
