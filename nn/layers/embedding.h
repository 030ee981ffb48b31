#pragma once

#include "tapegrad/core/options.h"
#include "tapegrad/core/random.h"
#include "tapegrad/nn/fields.h"
#include "tapegrad/ops/index.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A learned vector for each of `count` tokens, initially N(0, 1) as in PyTorch.
///   ids: any shape, in [0, count)   weight: (count, channels)   returns ids.shape + (channels)
/// Throws ArgumentError for sizes below 1, ShapeError for an id out of range.
/// Example: `Embedding(10, 16, random)(ids)`
struct Embedding {
  Parameter weight;

  Embedding(Index count, Index channels, Random& random)
      : weight(random.normal({expect_positive("Embedding", "count", count),
                              expect_positive("Embedding", "channels", channels)})) {}
  Tensor operator()(const Indices& ids, Place place = Place::here()) const {
    return embedding(weight, ids, place);
  }
  void visit(Fields& field) const { field("weight", weight); }
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
