#pragma once

// The order in which the shards of a batch are added, whatever the number of processes.

#include <vector>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Consecutive shards [begin, end), and the subtree of the sum over them. A subtree of n > 1 shards
/// adds two: the left one over the largest power of two below n, the right one over the rest.
struct Shards {
  Index begin, end;

  Index count() const { return end - begin; }
  bool within(const Shards& other) const { return begin >= other.begin && end <= other.end; }
  Shards left() const;
  Shards right() const;
  bool operator==(const Shards&) const = default;
};

/// The largest subtrees of the sum over `all` that lie within `part`, from left to right.
std::vector<Shards> subtrees_within(const Shards& all, const Shards& part);

/// The shards of process `rank` of `size`: as many for each, give or take one.
Shards shards_of(Index rank, Index size, Index shards);

/// The subtree of the sum over `all` that adds `part` and its neighbour. part: a subtree, not all
Shards parent_of(const Shards& all, const Shards& part);

}  // namespace tapegrad::TAPEGRAD_SCALAR
