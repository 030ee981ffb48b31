#pragma once

#include <optional>

#include "tapegrad/core/internal/philox.h"
#include "tapegrad/core/precision.h"
#include "tapegrad/ops/kernels/softmax.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// Heads stored side by side in rows. Head h of position t of sequence b starts at values[b *
/// batch_stride + t * stride + h * width].
template <class T>
struct Heads {
  T* values;
  Index stride, batch_stride;
};

/// A tensor that broadcasts to the scores (batch, heads, queries, keys), or null.
struct ScoreTerm {
  const real* values;
  Index batch_stride, head_stride, query_stride, key_stride;
};

struct Attention {
  Index batch, heads, queries, keys, width;
  bool causal;  ///< query i sees keys up to i + keys - queries
  real scale;
  ScoreTerm bias;               ///< added to the scaled scores
  ScoreTerm mask;               ///< 0 hides the key
  std::optional<Choices> kept;  ///< dropout of the weights (batch, heads, queries, keys)
  real kept_factor;             ///< multiplies the kept weights
  Precision precision;          ///< how products see their operands
};

// In the forward pass, a task computes a block of queries of one head. In the backward pass it
// computes the pairs of some queries and some keys, and adds to their gradients. The tasks of a
// round have no queries and no keys in common, and rounds follow each other in a fixed order.

/// out = dropped(softmax(q k^T scale + bias)) v for each head; a query without keys gets 0. rows
/// (batch, heads, queries) are kept for the backward pass.
void attention_forward(const Attention& a, Heads<const real> q, Heads<const real> k,
                       Heads<const real> v, Heads<real> out, SoftmaxRow* rows);

/// The gradients of q, k and v, given the gradient g of out. Computes the scores again, block by
/// block.
void attention_backward(const Attention& a, Heads<const real> q, Heads<const real> k,
                        Heads<const real> v, Heads<const real> out, const SoftmaxRow* rows,
                        Heads<const real> g, Heads<real> dq, Heads<real> dk, Heads<real> dv);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
