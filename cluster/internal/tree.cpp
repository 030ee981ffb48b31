#include "tapegrad/cluster/internal/tree.h"

#include <bit>

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// The number of shards in the left half of n > 1: the largest power of two below n.
Index left_count(Index n) {
  return static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(n - 1)));
}

void collect(const Shards& tree, const Shards& part, std::vector<Shards>& found) {
  if (tree.within(part)) return found.push_back(tree);
  if (tree.count() <= 1 || tree.end <= part.begin || tree.begin >= part.end) return;
  collect(tree.left(), part, found);
  collect(tree.right(), part, found);
}

}  // namespace

Shards Shards::left() const { return {begin, begin + left_count(count())}; }
Shards Shards::right() const { return {begin + left_count(count()), end}; }

std::vector<Shards> subtrees_within(const Shards& all, const Shards& part) {
  std::vector<Shards> found;
  if (part.count() > 0) collect(all, part, found);
  return found;
}

Shards parent_of(const Shards& all, const Shards& part) {
  Shards parent = all;
  while (parent.left() != part && parent.right() != part)
    parent = part.within(parent.left()) ? parent.left() : parent.right();
  return parent;
}

Shards shards_of(Index rank, Index size, Index shards) {
  return {rank * shards / size, (rank + 1) * shards / size};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
