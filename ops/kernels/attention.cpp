#include "tapegrad/ops/kernels/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/machine/profile.h"
#include "tapegrad/ops/kernels/elementwise.h"
#include "tapegrad/ops/kernels/product/gemm.h"
#include "tapegrad/ops/kernels/product/packed.h"
#include "tapegrad/ops/kernels/product/thin.h"
#include "tapegrad/ops/kernels/reduce.h"
#include "tapegrad/ops/kernels/scratch.h"
#include "tapegrad/ops/kernels/softmax.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {
namespace {

// The block of queries and keys whose scores share the cache. 32 queries by all keys take 1.35
// times as long in attention4096.
constexpr Index block_queries = 128;
constexpr Index block_keys = 384;
// The queries of a causal block whose products leave out the keys that none of them sees.
constexpr Index diagonal_queries = 32;
constexpr real hidden = -std::numeric_limits<real>::infinity();

// One head of one sequence.
struct Head {
  const Attention& a;
  Index b, h;

  template <class T>
  T* at(Heads<T> heads, Index position) const {
    return heads.values + b * heads.batch_stride + position * heads.stride + h * a.width;
  }
  const real* term(const ScoreTerm& term, Index query) const {
    return term.values + b * term.batch_stride + h * term.head_stride + query * term.query_stride;
  }
  Index row(Index query) const { return (b * a.heads + h) * a.queries + query; }
  void scale(Heads<real> x, Index position, real factor) const {
    elementwise().mul({at(x, position), false}, {&factor, true}, at(x, position), a.width);
  }
  // How many keys a query may see.
  Index visible(Index query) const {
    return a.causal ? std::max<Index>(0, query + 1 + a.keys - a.queries) : a.keys;
  }
};

// Queries [begin, end) and keys [first, last) of a head. Their scores are a matrix (queries, keys).
struct Block {
  const Head& head;
  Index begin, end, first, last;

  Index queries() const { return end - begin; }
  Index keys() const { return last - first; }
  Index scores() const { return queries() * keys(); }
  // How many of its keys a query may see.
  Index visible(Index query) const {
    return std::clamp<Index>(head.visible(query) - first, 0, keys());
  }
};

// The most scores of a block.
Index most_scores(const Attention& a) {
  return std::min(a.queries, block_queries) * std::min(a.keys, block_keys);
}

// Calls body(block) for the block that begins there, without panels of keys that its last query may
// not see. A block on the diagonal comes as the keys that all its queries see, and pieces of the
// others.
template <class Body>
void for_block(const Head& head, Index begin, Index first, const Body& body) {
  const Index end = std::min(head.a.queries, begin + block_queries);
  const Index last = std::min(head.a.keys, first + block_keys);
  const Index seen_by_all = std::min(head.visible(begin), last);
  const Index diagonal =
      seen_by_all == last ? last : std::max(first, seen_by_all / block_queries * block_queries);
  if (diagonal > first) body(Block{head, begin, end, first, diagonal});
  for (Index piece = begin; piece < end && diagonal < last; piece += diagonal_queries) {
    const Index piece_end = std::min(end, piece + diagonal_queries);
    const Index seen = head.visible(piece_end - 1);
    const Index panels = (seen + packed_columns - 1) / packed_columns * packed_columns;
    if (seen > diagonal) body(Block{head, piece, piece_end, diagonal, std::min(last, panels)});
  }
}

// A head's keys or values, with which its queries or their gradients are multiplied. They are
// rearranged once if there are enough queries. Products in bfloat16 arrange them their own way.
class TransposedHead {
 public:
  TransposedHead(const Head& head, Heads<const real> x)
      : width_(head.a.width), columns_{head.at(x, 0), x.stride, true} {
    if (head.a.queries > thin && head.a.precision == Precision::full)
      packed_.emplace(width_, head.a.keys, columns_);
  }
  // c (queries, keys) = the dot products of the block's pairs
  void multiply(const Block& block, Heads<const real> x, real* c) const {
    const Index queries = block.queries(), keys = block.keys();
    const MatrixView rows{block.head.at(x, block.begin), x.stride};
    if (packed_)
      return packed_->multiply_part(queries, block.first, keys, rows, {}, c, keys, false);
    gemm_serial(queries, keys, width_, rows, columns_.from(0, block.first), {}, c, keys,
                block.head.a.precision);
  }

 private:
  Index width_;
  MatrixView columns_;
  std::optional<Packed> packed_;
};

// Makes the dot products of a block's pairs their scores.
void finish_scores(const Block& block, real* scores) {
  const Head& head = block.head;
  const Attention& a = head.a;
  elementwise().mul({scores, false}, {&a.scale, true}, scores, block.scores());
  for (Index i = block.begin; i < block.end; ++i, scores += block.keys()) {
    const Index visible = block.visible(i);
    if (a.bias.values) {
      const real* bias = head.term(a.bias, i) + block.first * a.bias.key_stride;
      for (Index j = 0; j < visible; ++j) {
        const real term = bias[j * a.bias.key_stride];
        scores[j] = term == hidden ? hidden : scores[j] + term;  // even if the score is NaN
      }
    }
    if (a.mask.values) {
      const real* mask = head.term(a.mask, i) + block.first * a.mask.key_stride;
      for (Index j = 0; j < visible; ++j)
        if (mask[j * a.mask.key_stride] == 0) scores[j] = hidden;
    }
    std::fill(scores + visible, scores + block.keys(), hidden);
  }
}

// What dropout multiplies the weights of a block by.
void read_kept(const Block& block, real* factors) {
  const Attention& a = block.head.a;
  const bool contiguous = block.keys() == a.keys;
  const Index rows = contiguous ? block.queries() : 1;
  for (Index i = block.begin; i < block.end; i += rows, factors += rows * block.keys())
    a.kept->read(block.head.row(i) * a.keys + block.first, rows * block.keys(), a.kept_factor,
                 factors);
}

// Makes the scores of a block weights, relative to the greatest score that the query has had. When
// a greater one appears, the query's sums in `out` are scaled down (Milakov and Gimelshein 2018,
// algorithm 3). While keys remain, inverse_sum is the sum of the weights.
void weights_of(const Block& block, Heads<real> out, SoftmaxRow* rows, real* scores,
                real* factors) {
  const Head& head = block.head;
  std::array<real, block_queries> greatest;  // all first, so that their latencies overlap
  for (Index i = 0; i < block.queries(); ++i)
    greatest[i] = reduce().max(scores + i * block.keys(), block.keys());
  real* row = scores;
  for (Index i = block.begin; i < block.end; ++i, row += block.keys()) {
    SoftmaxRow& so_far = rows[head.row(i)];
    const real here = greatest[i - block.begin];
    if (here == hidden) {
      std::fill_n(row, block.keys(), real{0});
      continue;
    }
    if (here > so_far.greatest) {
      if (so_far.greatest != hidden) {
        const real shrink = std::exp(so_far.greatest - here);
        head.scale(out, i, shrink);
        so_far.inverse_sum *= shrink;
      }
      so_far.greatest = here;
    }
    so_far.inverse_sum += softmax_loops().exp_sum(row, block.keys(), so_far.greatest, row);
  }
  if (head.a.kept) {
    read_kept(block, factors);
    elementwise().mul({scores, false}, {factors, false}, scores, block.scores());
  }
}

// Before the first key, and after the last.
void begin_query(const Head& head, Index query, Heads<real> out, SoftmaxRow* rows) {
  std::fill_n(head.at(out, query), head.a.width, real{0});
  rows[head.row(query)] = {hidden, 0};
}
void end_query(const Head& head, Index query, Heads<real> out, SoftmaxRow* rows) {
  SoftmaxRow& row = rows[head.row(query)];
  if (row.inverse_sum == 0) {
    row.greatest = -hidden;
    return;
  }
  row.inverse_sum = 1 / row.inverse_sum;
  head.scale(out, query, row.inverse_sum);
}

// Queries [begin, end) against all their keys.
void forward_queries(const Head& head, Heads<const real> q, const TransposedHead& k,
                     Heads<const real> v, Heads<real> out, SoftmaxRow* rows, Index begin, Index end,
                     real* scores, real* factors) {
  const auto add = [&](const Block& block) {
    k.multiply(block, q, scores);
    finish_scores(block, scores);
    weights_of(block, out, rows, scores, factors);
    real* sums = head.at(out, block.begin);
    gemm_serial(block.queries(), head.a.width, block.keys(), {scores, block.keys()},
                {head.at(v, block.first), v.stride}, {sums, out.stride}, sums, out.stride,
                head.a.precision);
  };
  for (Index i = begin; i < end; ++i) begin_query(head, i, out, rows);
  for (Index first = 0; first < head.visible(end - 1); first += block_keys)
    for_block(head, begin, first, add);
  for (Index i = begin; i < end; ++i) end_query(head, i, out, rows);
}

// What the backward pass reads and writes.
struct Gradients {
  Heads<const real> q, k, out, g;
  const SoftmaxRow* rows;
  Heads<real> dq, dk, dv;
};

// Adds the contributions of a block's pairs.
void backward_block(const Block& block, const Gradients& t, const TransposedHead& all_k,
                    const TransposedHead& all_v, real* p, real* ds, real* factors) {
  const Head& head = block.head;
  const Attention& a = head.a;
  const Index queries = block.queries(), keys = block.keys();
  const auto query = [&](auto heads, Index i) { return head.at(heads, i); };
  const auto key = [&](auto heads) { return head.at(heads, block.first); };
  const auto drop = [&](real* x) {
    if (a.kept) elementwise().mul({x, false}, {factors, false}, x, block.scores());
  };
  if (a.kept) read_kept(block, factors);
  std::array<real, block_queries> means;  // all of them first, so that their latencies overlap
  for (Index i = 0; i < queries; ++i)
    means[i] = reduce().dot(query(t.g, block.begin + i), query(t.out, block.begin + i), a.width);
  all_k.multiply(block, t.q, p);
  finish_scores(block, p);
  all_v.multiply(block, t.g, ds);
  drop(ds);
  for (Index i = 0; i < queries; ++i) {
    real *p_row = p + i * keys, *ds_row = ds + i * keys;
    softmax_loops().backward(p_row, ds_row, keys, t.rows[head.row(block.begin + i)], means[i],
                             a.scale);
    // Not left to the weights of hidden keys, which are 0: a NaN in the row would reach these keys.
    const Index visible = block.visible(block.begin + i);
    std::fill(p_row + visible, p_row + keys, real{0});
    std::fill(ds_row + visible, ds_row + keys, real{0});
  }
  drop(p);
  const auto add = [&](Index rows, Index terms, MatrixView left, MatrixView right, real* to,
                       Index to_stride) {
    gemm_serial(rows, a.width, terms, left, right, {to, to_stride}, to, to_stride, a.precision);
  };
  const MatrixView g{query(t.g, block.begin), t.g.stride}, q{query(t.q, block.begin), t.q.stride};
  add(keys, queries, {p, keys, true}, g, key(t.dv), t.dv.stride);
  add(keys, queries, {ds, keys, true}, q, key(t.dk), t.dk.stride);
  add(queries, keys, {ds, keys}, {key(t.k), t.k.stride}, query(t.dq, block.begin), t.dq.stride);
}

// Counts `products` products over the pairs of queries and visible keys, and `passes` over tensors
// of the queries' size and of the keys' size.
void count_attention(const Attention& a, double products, double passes) {
  if (!Profile::active()) return;
  double pairs = 0;
  for (Index i = 0; i < a.queries; ++i) pairs += static_cast<double>(Head{a, 0, 0}.visible(i));
  const auto width = static_cast<double>(a.width), heads = static_cast<double>(a.batch * a.heads);
  const double flops = heads * 2 * products * pairs * width;
  count_work({.flops = flops,
              .bytes = heads * passes * static_cast<double>(a.queries + a.keys) * width *
                       static_cast<double>(sizeof(real)),
              .bfloat16_flops = a.precision == Precision::bfloat16 ? flops : 0});
}

void clear(const Head& head, Heads<real> x, Index begin, Index end) {
  for (Index t = begin; t < end; ++t) std::fill_n(head.at(x, t), head.a.width, real{0});
}

// A task has several heads where one, as of a single query, takes less time than waking a thread.
Index heads_of_task(const Attention& a) {
  constexpr Index products_of_task = Index{1} << 17;
  return std::max<Index>(1, products_of_task / (2 * a.queries * a.keys * a.width + 1));
}

// Calls body(head) for every head of every sequence.
template <class Body>
void for_heads(const Attention& a, const Body& body) {
  parallel_ranges(a.batch * a.heads, heads_of_task(a), [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) body(Head{a, i / a.heads, i % a.heads});
  });
}

Index blocks_of(Index length, Index block) { return (length + block - 1) / block; }

// The blocks [begin, end) of a part, where `parts` of about one size have all of them.
std::pair<Index, Index> range_of(Index part, Index parts, Index blocks) {
  return {part * blocks / parts, (part + 1) * blocks / parts};
}

// Heads [begin, end) of a sequence with a single query, as in generation. They read rows of keys
// and values together, since memory delivers whole rows faster than one head's part of each.
void forward_one_query(const Attention& a, Index b, Index begin, Index end, Heads<const real> q,
                       Heads<const real> k, Heads<const real> v, Heads<real> out,
                       SoftmaxRow* rows) {
  const Scratch scores((end - begin) * most_scores(a)), factors(a.kept ? most_scores(a) : 0);
  const Head front{a, b, begin};
  for (Index h = begin; h < end; ++h) begin_query({a, b, h}, 0, out, rows);
  for (Index first = 0; first < a.keys; first += block_keys) {
    const Index last = std::min(a.keys, first + block_keys);
    const HeadRows parts{end - begin, a.width, last - first};
    thin_loops().head_dots(parts, front.at(q, 0), front.at(k, first), k.stride, scores.data());
    for (Index h = begin; h < end; ++h) {
      const Head head{a, b, h};
      const Block block{head, 0, 1, first, last};
      real* row = scores.data() + (h - begin) * block.keys();
      finish_scores(block, row);
      weights_of(block, out, rows, row, factors.data());
    }
    thin_loops().add_head_sums(parts, scores.data(), front.at(v, first), v.stride,
                               front.at(out, 0));
  }
  for (Index h = begin; h < end; ++h) end_query({a, b, h}, 0, out, rows);
}

}  // namespace

void attention_forward(const Attention& a, Heads<const real> q, Heads<const real> k,
                       Heads<const real> v, Heads<real> out, SoftmaxRow* rows) {
  count_attention(a, 2, 2);  // q, k, v and out
  if (a.queries == 1 && a.precision == Precision::full) {
    const Index heads = std::max(heads_of_task(a), a.batch > 1 ? a.heads : 1);
    return parallel_ranges(a.batch * a.heads, heads, [&](Index begin, Index end) {
      for (Index last; begin < end; begin = last) {
        const Index b = begin / a.heads, first = b * a.heads;
        last = std::min(end, first + a.heads);
        forward_one_query(a, b, begin - first, last - first, q, k, v, out, rows);
      }
    });
  }
  for_heads(a, [&](const Head& head) {
    const TransposedHead all_keys(head, k);
    parallel_ranges(a.queries, block_queries, [&](Index begin, Index end) {
      const Scratch scores(most_scores(a)), factors(a.kept ? most_scores(a) : 0);
      forward_queries(head, q, all_keys, v, out, rows, begin, end, scores.data(), factors.data());
    });
  });
}

void attention_backward(const Attention& a, Heads<const real> q, Heads<const real> k,
                        Heads<const real> v, Heads<const real> out, const SoftmaxRow* rows,
                        Heads<const real> g, Heads<real> dq, Heads<real> dk, Heads<real> dv) {
  count_attention(a, 5, 4);  // q, k, v, out, g and three gradients
  const Gradients all{q, k, out, g, rows, dq, dk, dv};
  const Index of_queries = blocks_of(a.queries, block_queries),
              of_keys = blocks_of(a.keys, block_keys);
  const Index parts = std::min(of_queries, of_keys);
  for_heads(a, [&](const Head& head) {
    clear(head, dq, 0, a.queries);
    clear(head, dk, 0, a.keys);
    clear(head, dv, 0, a.keys);
    const TransposedHead all_k(head, k), all_v(head, v);
    for (Index round = 0; round < parts; ++round)
      parallel_for(parts, [&](Index part) {
        const Scratch p(most_scores(a)), ds(most_scores(a));
        const Scratch factors(a.kept ? most_scores(a) : 0);
        const auto [first_keys, end_keys] = range_of(part, parts, of_keys);
        const auto [first_queries, end_queries] =
            range_of((part + round) % parts, parts, of_queries);
        for (Index keys = first_keys; keys < end_keys; ++keys)
          for (Index queries = first_queries; queries < end_queries; ++queries)
            for_block(head, queries * block_queries, keys * block_keys, [&](const Block& block) {
              backward_block(block, all, all_k, all_v, p.data(), ds.data(), factors.data());
            });
      });
  });
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
