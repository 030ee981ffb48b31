#include "tapegrad/io/batches.h"

#include <algorithm>
#include <numeric>

#include "tapegrad/core/error.h"
#include "tapegrad/core/options.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace detail {

Index batch_count(Index count, Index size) {
  expect<ArgumentError>(count >= 1, "batches: the set is empty: {} examples", count);
  expect_positive("batches", "size", size);
  return (count + size - 1) / size;
}

Indices batch_order(Index count, Random* random) {
  expect<ArgumentError>(count >= 1, "batches: the set is empty: {} examples", count);
  if (random != nullptr) return random->permutation(count);
  Indices order = Indices::uninitialized({count});
  std::iota(order.mutable_data(), order.mutable_data() + count, Index{0});
  return order;
}

}  // namespace detail
namespace {

// The examples in the order of their lengths; `random`, if given, shuffles equal ones.
std::vector<Index> by_length(const std::vector<ExampleLengths>& lengths, Random* random) {
  if (lengths.empty()) return {};
  const Indices start = detail::batch_order(static_cast<Index>(lengths.size()), random);
  std::vector<Index> order(start.values().begin(), start.values().end());
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    return lengths[static_cast<std::size_t>(a)] < lengths[static_cast<std::size_t>(b)];
  });
  return order;
}

}  // namespace

std::vector<std::vector<Index>> batches_by_length(const std::vector<ExampleLengths>& lengths,
                                                  Index tokens, Random* random) {
  expect_positive("batches_by_length", "tokens", tokens);
  std::vector<std::vector<Index>> batches;
  Index longest = 0;  // of the last batch
  for (const Index i : by_length(lengths, random)) {
    const auto& [first, second] = lengths[static_cast<std::size_t>(i)];
    longest = std::max({longest, first, second});
    const auto count = batches.empty() ? 0 : static_cast<Index>(batches.back().size());
    if (batches.empty() || (count + 1) * longest > tokens) {
      batches.emplace_back();
      longest = std::max(first, second);
    }
    batches.back().push_back(i);
  }
  if (random == nullptr || batches.empty()) return batches;
  std::vector<std::vector<Index>> shuffled;
  for (const Index i : random->permutation(static_cast<Index>(batches.size())).values())
    shuffled.push_back(std::move(batches[static_cast<std::size_t>(i)]));
  return shuffled;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
