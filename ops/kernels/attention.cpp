#include "tapegrad/ops/kernels/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "tapegrad/core/parallel.h"
#include "tapegrad/core/profile.h"
#include "tapegrad/ops/kernels/elementwise.h"
#include "tapegrad/ops/kernels/product/gemm.h"
#include "tapegrad/ops/kernels/reduce.h"
#include "tapegrad/ops/kernels/scratch.h"
#include "tapegrad/ops/kernels/softmax.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {
namespace {

// The block of queries and keys whose scores share the cache. 32 queries by all keys take 1.35
// times as long in attention4096.
constexpr Index block_queries = 128;
constexpr Index block_keys = 384;
constexpr real hidden = -std::numeric_limits<real>::infinity();

// One head of one sequence.
struct Head {
  const Attention& a;
  Index b, h;

  template <class T>
  T* at(Heads<T> heads, Index length, Index position) const {
    return heads.values + (b * length + position) * heads.stride + h * a.width;
  }
  const real* term(const ScoreTerm& term, Index query) const {
    return term.values + b * term.batch_stride + h * term.head_stride + query * term.query_stride;
  }
  Index row(Index query) const { return (b * a.heads + h) * a.queries + query; }
  // The distance between rows of a block's scores.
  Index stride() const { return std::min(a.keys, block_keys); }
  // How many keys a query may see.
  Index visible(Index query) const {
    return a.causal ? std::max<Index>(0, query + 1 + a.keys - a.queries) : a.keys;
  }
};

// Queries [begin, end) and keys [first, last) of a head.
struct Block {
  const Head& head;
  Index begin, end, first, last;

  Index queries() const { return end - begin; }
  Index keys() const { return last - first; }
  // How many of its keys a query may see.
  Index visible(Index query) const {
    return std::clamp<Index>(head.visible(query) - first, 0, keys());
  }
};

// The block that begins there, without keys that its last query may not see.
Block block_at(const Head& head, Index begin, Index first) {
  const Index end = std::min(head.a.queries, begin + block_queries);
  const Index seen = std::min(head.visible(end - 1), first + block_keys);
  return {head, begin, end, first, std::max(first, seen)};
}

// The scores of a block, one row per query. Scores of hidden keys are undefined.
void scores_of(const Block& block, Heads<const real> q, Heads<const real> k, real* scores) {
  const Head& head = block.head;
  const Attention& a = head.a;
  gemm_serial(block.queries(), block.keys(), a.width,
              {head.at(q, a.queries, block.begin), q.stride},
              {head.at(k, a.keys, block.first), k.stride, true}, {}, scores, head.stride());
  for (Index i = block.begin; i < block.end; ++i, scores += head.stride()) {
    const Index visible = block.visible(i);
    elementwise().mul({scores, false}, {&a.scale, true}, scores, visible);
    if (a.bias.values) {
      const real* bias = head.term(a.bias, i) + block.first * a.bias.key_stride;
      for (Index j = 0; j < visible; ++j) scores[j] += bias[j * a.bias.key_stride];
    }
    if (a.mask.values) {
      const real* mask = head.term(a.mask, i) + block.first * a.mask.key_stride;
      for (Index j = 0; j < visible; ++j)
        if (mask[j * a.mask.key_stride] == 0) scores[j] = hidden;
    }
  }
}

// Applies dropout, if there is any, to the row of weights of a query of the block.
void drop(const Block& block, Index query, real* row, real* factors) {
  const Attention& a = block.head.a;
  if (!a.kept) return;
  const Index visible = block.visible(query);
  a.kept->read(block.head.row(query) * a.keys + block.first, visible, a.kept_factor, factors);
  elementwise().mul({row, false}, {factors, false}, row, visible);
}

// Queries from `begin` on against all their keys. Weights are relative to the greatest score so
// far. When a greater one appears, the running sums, which start from the zeros in `out`, are
// scaled down (Milakov and Gimelshein 2018, algorithm 3).
void forward_queries(const Head& head, Heads<const real> q, Heads<const real> k,
                     Heads<const real> v, Heads<real> out, SoftmaxRow* rows, Index begin,
                     real* scores, real* factors) {
  const Attention& a = head.a;
  const Index end = block_at(head, begin, 0).end;
  std::array<real, block_queries> greatest, totals{};
  greatest.fill(hidden);
  const auto sums = [&](Index query) { return head.at(out, a.queries, query); };
  const auto scale_sums = [&](Index query, real factor) {
    elementwise().mul({sums(query), false}, {&factor, true}, sums(query), a.width);
  };
  for (Index first = 0; first < head.visible(end - 1); first += block_keys) {
    const Block block = block_at(head, begin, first);
    scores_of(block, q, k, scores);
    real* row = scores;
    for (Index i = begin; i < end; ++i, row += head.stride()) {
      const Index visible = block.visible(i);
      std::fill(row + visible, row + block.keys(), real{0});
      real &so_far = greatest[i - begin], &total = totals[i - begin];
      const real here = reduce().max(row, visible);
      if (here == hidden) {
        std::fill_n(row, visible, real{0});
        continue;
      }
      if (here > so_far) {
        const real shrink = std::exp(so_far - here);
        scale_sums(i, shrink);
        total *= shrink;
        so_far = here;
      }
      total += softmax_loops().exp_sum(row, visible, so_far, row);
      drop(block, i, row, factors);
    }
    gemm_serial(block.queries(), a.width, block.keys(), {scores, head.stride()},
                {head.at(v, a.keys, first), v.stride}, {sums(begin), out.stride}, sums(begin),
                out.stride);
  }
  for (Index i = begin; i < end; ++i) {
    const real total = totals[i - begin];
    const bool sees_keys = total != 0;
    if (sees_keys) scale_sums(i, 1 / total);
    rows[head.row(i)] =
        sees_keys ? SoftmaxRow{greatest[i - begin], 1 / total} : SoftmaxRow{-hidden, 0};
  }
}

// What the backward pass reads and writes.
struct Gradients {
  Heads<const real> q, k, v, out, g;
  const SoftmaxRow* rows;
  Heads<real> dq, dk, dv;
};

// Adds the contributions of a block's pairs.
void backward_block(const Block& block, const Gradients& t, real* p, real* ds, real* factors) {
  const Head& head = block.head;
  const Attention& a = head.a;
  const Index stride = head.stride(), queries = block.queries(), keys = block.keys();
  const auto query = [&](auto heads, Index i) { return head.at(heads, a.queries, i); };
  const auto key = [&](auto heads) { return head.at(heads, a.keys, block.first); };
  scores_of(block, t.q, t.k, p);
  gemm_serial(queries, keys, a.width, {query(t.g, block.begin), t.g.stride},
              {key(t.v), t.v.stride, true}, {}, ds, stride);
  for (Index i = block.begin; i < block.end; ++i) {
    real *p_row = p + (i - block.begin) * stride, *ds_row = ds + (i - block.begin) * stride;
    const Index visible = block.visible(i);
    drop(block, i, ds_row, factors);
    const real mean = reduce().dot(query(t.g, i), query(t.out, i), a.width);
    softmax_loops().backward(p_row, ds_row, visible, t.rows[head.row(i)], mean, a.scale);
    if (a.kept) elementwise().mul({p_row, false}, {factors, false}, p_row, visible);
    std::fill(p_row + visible, p_row + keys, real{0});
    std::fill(ds_row + visible, ds_row + keys, real{0});
  }
  const auto add = [&](Index rows, Index terms, MatrixView left, MatrixView right, real* to,
                       Index to_stride) {
    gemm_serial(rows, a.width, terms, left, right, {to, to_stride}, to, to_stride);
  };
  const MatrixView g{query(t.g, block.begin), t.g.stride}, q{query(t.q, block.begin), t.q.stride};
  add(keys, queries, {p, stride, true}, g, key(t.dv), t.dv.stride);
  add(keys, queries, {ds, stride, true}, q, key(t.dk), t.dk.stride);
  add(queries, keys, {ds, stride}, {key(t.k), t.k.stride}, query(t.dq, block.begin), t.dq.stride);
}

// Counts `products` products over the pairs of queries and visible keys, and `passes` over tensors
// of the queries' size and of the keys' size.
void count_attention(const Attention& a, double products, double passes) {
  if (!Profile::active()) return;
  double pairs = 0;
  for (Index i = 0; i < a.queries; ++i) pairs += static_cast<double>(Head{a, 0, 0}.visible(i));
  const auto width = static_cast<double>(a.width), heads = static_cast<double>(a.batch * a.heads);
  count_work(heads * 2 * products * pairs * width,
             heads * passes * static_cast<double>(a.queries + a.keys) * width * sizeof(real));
}

void clear(const Head& head, Heads<real> x, Index length, Index begin, Index end) {
  for (Index t = begin; t < end; ++t) std::fill_n(head.at(x, length, t), head.a.width, real{0});
}

// Calls body(head) for every head of every sequence.
template <class Body>
void for_heads(const Attention& a, const Body& body) {
  parallel_for(a.batch * a.heads, [&](Index task) {
    body(Head{a, task / a.heads, task % a.heads});
  });
}

Index blocks_of(Index length, Index block) { return (length + block - 1) / block; }

// The blocks [begin, end) of a part, where `parts` of about one size have all of them.
std::pair<Index, Index> range_of(Index part, Index parts, Index blocks) {
  return {part * blocks / parts, (part + 1) * blocks / parts};
}

}  // namespace

void attention_forward(const Attention& a, Heads<const real> q, Heads<const real> k,
                       Heads<const real> v, Heads<real> out, SoftmaxRow* rows) {
  count_attention(a, 2, 2);  // q, k, v and out
  for_heads(a, [&](const Head& head) {
    parallel_ranges(a.queries, block_queries, [&](Index begin, Index end) {
      const Scratch scores(block_queries * head.stride()), factors(head.stride());
      clear(head, out, a.queries, begin, end);
      forward_queries(head, q, k, v, out, rows, begin, scores.data(), factors.data());
    });
  });
}

void attention_backward(const Attention& a, Heads<const real> q, Heads<const real> k,
                        Heads<const real> v, Heads<const real> out, const SoftmaxRow* rows,
                        Heads<const real> g, Heads<real> dq, Heads<real> dk, Heads<real> dv) {
  count_attention(a, 5, 4);  // q, k, v, out, g and three gradients
  const Gradients all{q, k, v, out, g, rows, dq, dk, dv};
  const Index of_queries = blocks_of(a.queries, block_queries),
              of_keys = blocks_of(a.keys, block_keys);
  const Index parts = std::min(of_queries, of_keys);
  for_heads(a, [&](const Head& head) {
    clear(head, dq, a.queries, 0, a.queries);
    clear(head, dk, a.keys, 0, a.keys);
    clear(head, dv, a.keys, 0, a.keys);
    for (Index round = 0; round < parts; ++round)
      parallel_for(parts, [&](Index part) {
        const Scratch p(block_queries * head.stride()), ds(block_queries * head.stride());
        const Scratch factors(head.stride());
        const auto [first_keys, end_keys] = range_of(part, parts, of_keys);
        const auto [first_queries, end_queries] =
            range_of((part + round) % parts, parts, of_queries);
        for (Index keys = first_keys; keys < end_keys; ++keys)
          for (Index queries = first_queries; queries < end_queries; ++queries) {
            const Block block = block_at(head, queries * block_queries, keys * block_keys);
            if (block.keys() > 0) backward_block(block, all, p.data(), ds.data(), factors.data());
          }
      });
  });
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
