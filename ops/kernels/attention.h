#pragma once

#include <optional>

#include "tapegrad/core/internal/philox.h"
#include "tapegrad/ops/kernels/softmax.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// Heads side by side in rows: head h of position t of sequence b starts at
/// values[(b * length + t) * stride + h * width].
template <class T>
struct Heads {
  T* values;
  Index stride;
};

/// A tensor that broadcasts to the scores (batch, heads, queries, keys); null where there is none.
struct ScoreTerm {
  const real* values;
  Index batch_stride, head_stride, query_stride, key_stride;
};

struct Attention {
  Index batch, heads, queries, keys, width;
  bool causal;  ///< query i sees keys up to i + keys - queries
  real scale;
  ScoreTerm bias;               ///< added to the scaled scores
  ScoreTerm mask;               ///< 0: this key does not count
  std::optional<Choices> kept;  ///< of the weights (batch, heads, queries, keys)
  real kept_factor;             ///< of those that are kept
};

// A task takes one head of one sequence, there and back.

/// out = dropped(softmax(q k^T scale + bias)) v for each head; a query without keys gets 0.
/// rows (batch, heads, queries): for the way back.
void attention_forward(const Attention& a, Heads<const real> q, Heads<const real> k,
                       Heads<const real> v, Heads<real> out, SoftmaxRow* rows);

/// Given the gradient g of out. The scores are computed again, block by block.
void attention_backward(const Attention& a, Heads<const real> q, Heads<const real> k,
                        Heads<const real> v, Heads<const real> out, const SoftmaxRow* rows,
                        Heads<const real> g, Heads<real> dq, Heads<real> dk, Heads<real> dv);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
