#include "tapegrad/ops/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tapegrad/core/parallel.h"
#include "tapegrad/core/profile.h"
#include "tapegrad/ops/kernels/elementwise.h"
#include "tapegrad/ops/kernels/gemm.h"
#include "tapegrad/ops/kernels/reduce.h"
#include "tapegrad/ops/kernels/scratch.h"
#include "tapegrad/ops/kernels/softmax.h"

namespace tapegrad::kernels {
namespace {

constexpr Index block_rows = 32;  // queries whose scores are in the cache together
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
  // How many keys a query may see.
  Index visible(Index query) const {
    return a.causal ? std::max<Index>(0, query + 1 + a.keys - a.queries) : a.keys;
  }
};

// The scores of queries [begin, end) with the keys that the last of them may see, in rows that are
// `keys` long; what a query may not see is left undefined. Returns how many keys those are.
Index scores_of(const Head& head, Heads<const real> q, Heads<const real> k, Index begin, Index end,
                real* scores) {
  const Attention& a = head.a;
  const Index seen = head.visible(end - 1);
  if (seen == 0) return 0;
  gemm_serial(end - begin, seen, a.width, {head.at(q, a.queries, begin), q.stride},
              {head.at(k, a.keys, 0), k.stride, true}, {}, scores, a.keys);
  for (Index i = begin; i < end; ++i) {
    real* row = scores + (i - begin) * a.keys;
    const Index visible = head.visible(i);
    elementwise().mul({row, false}, {&a.scale, true}, row, visible);
    if (a.bias.values) {
      const real* bias = head.term(a.bias, i);
      for (Index j = 0; j < visible; ++j) row[j] += bias[j * a.bias.key_stride];
    }
    if (a.mask.values) {
      const real* mask = head.term(a.mask, i);
      for (Index j = 0; j < visible; ++j)
        if (mask[j * a.mask.key_stride] == 0) row[j] = hidden;
    }
  }
  return seen;
}

// The row times what dropout leaves of the weights of a query, if there is any.
void drop(const Head& head, Index query, real* row, Index count, real* factors) {
  if (!head.a.kept) return;
  head.a.kept->read(head.row(query) * head.a.keys, count, head.a.kept_factor, factors);
  elementwise().mul({row, false}, {factors, false}, row, count);
}

void forward_block(const Head& head, Heads<const real> q, Heads<const real> k, Heads<const real> v,
                   Heads<real> out, real* normalizers, Index begin, Index end, real* scores,
                   real* factors) {
  const Attention& a = head.a;
  const Index seen = scores_of(head, q, k, begin, end, scores);
  for (Index i = begin; i < end; ++i) {
    real* row = scores + (i - begin) * a.keys;
    const Index visible = head.visible(i);
    std::fill(row + visible, row + seen, real{0});
    const real greatest = reduce().max(row, visible);
    real& normalizer = normalizers[head.row(i)];
    if (greatest == hidden) {  // no key at all
      std::fill_n(row, visible, real{0});
      normalizer = std::numeric_limits<real>::infinity();
      continue;
    }
    const real total = softmax_loops().exp_sum(row, visible, greatest, row), factor = 1 / total;
    elementwise().mul({row, false}, {&factor, true}, row, visible);
    normalizer = greatest + std::log(total);
    drop(head, i, row, visible, factors);
  }
  gemm_serial(end - begin, a.width, seen, {scores, a.keys}, {head.at(v, a.keys, 0), v.stride}, {},
              head.at(out, a.queries, begin), out.stride);
}

// `products` products over the pairs of queries and keys that see each other, and `passes` over
// tensors of the queries' size and as many of the keys'.
void count_attention(const Attention& a, double products, double passes) {
  if (!Profile::active()) return;
  double pairs = 0;
  for (Index i = 0; i < a.queries; ++i)
    pairs +=
        static_cast<double>(a.causal ? std::max<Index>(0, i + 1 + a.keys - a.queries) : a.keys);
  const auto width = static_cast<double>(a.width), heads = static_cast<double>(a.batch * a.heads);
  count_work(heads * 2 * products * pairs * width,
             heads * passes * static_cast<double>(a.queries + a.keys) * width * sizeof(real));
}

// Calls body(head) for every head of every sequence.
template <class Body>
void for_heads(const Attention& a, const Body& body) {
  parallel_for(a.batch * a.heads, [&](Index task) {
    body(Head{a, task / a.heads, task % a.heads});
  });
}

}  // namespace

void attention_forward(const Attention& a, Heads<const real> q, Heads<const real> k,
                       Heads<const real> v, Heads<real> out, real* normalizers) {
  count_attention(a, 2, 2);  // q, k, v and out
  for_heads(a, [&](const Head& head) {
    const Scratch scores(block_rows * std::max<Index>(1, a.keys)), factors(a.keys);
    for (Index begin = 0; begin < a.queries; begin += block_rows)
      forward_block(head, q, k, v, out, normalizers, begin, std::min(a.queries, begin + block_rows),
                    scores.data(), factors.data());
  });
}

void attention_backward(const Attention& a, Heads<const real> q, Heads<const real> k,
                        Heads<const real> v, Heads<const real> out, const real* normalizers,
                        Heads<const real> g, Heads<real> dq, Heads<real> dk, Heads<real> dv) {
  count_attention(a, 5, 4);  // q, k, v, out, g and three gradients
  for_heads(a, [&](const Head& head) {
    const Index size = block_rows * std::max<Index>(1, a.keys);
    const Scratch p_block(size), ds_block(size), factors(a.keys);
    real *p = p_block.data(), *ds = ds_block.data();
    for (Index t = 0; t < a.keys; ++t) {
      std::fill_n(head.at(dk, a.keys, t), a.width, real{0});
      std::fill_n(head.at(dv, a.keys, t), a.width, real{0});
    }
    for (Index begin = 0; begin < a.queries; begin += block_rows) {
      const Index end = std::min(a.queries, begin + block_rows), rows = end - begin;
      const Index seen = scores_of(head, q, k, begin, end, p);
      const real* g_rows = head.at(g, a.queries, begin);
      gemm_serial(rows, seen, a.width, {g_rows, g.stride}, {head.at(v, a.keys, 0), v.stride, true},
                  {}, ds, a.keys);
      for (Index i = 0; i < rows; ++i) {
        real *p_row = p + i * a.keys, *ds_row = ds + i * a.keys;
        const Index visible = head.visible(begin + i);
        drop(head, begin + i, ds_row, visible, factors.data());
        const real mean = reduce().dot(head.at(g, a.queries, begin + i),
                                       head.at(out, a.queries, begin + i), a.width);
        softmax_loops().backward(p_row, ds_row, visible, normalizers[head.row(begin + i)], mean,
                                 a.scale);
        if (a.kept) elementwise().mul({p_row, false}, {factors.data(), false}, p_row, visible);
        std::fill(p_row + visible, p_row + seen, real{0});
        std::fill(ds_row + visible, ds_row + seen, real{0});
      }
      gemm_serial(seen, a.width, rows, {p, a.keys, true}, {g_rows, g.stride},
                  {head.at(dv, a.keys, 0), dv.stride}, head.at(dv, a.keys, 0), dv.stride);
      gemm_serial(seen, a.width, rows, {ds, a.keys, true}, {head.at(q, a.queries, begin), q.stride},
                  {head.at(dk, a.keys, 0), dk.stride}, head.at(dk, a.keys, 0), dk.stride);
      gemm_serial(rows, a.width, seen, {ds, a.keys}, {head.at(k, a.keys, 0), k.stride}, {},
                  head.at(dq, a.queries, begin), dq.stride);
    }
  });
}

}  // namespace tapegrad::kernels
