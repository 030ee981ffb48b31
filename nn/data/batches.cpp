#include "tapegrad/nn/data/batches.h"

#include <numeric>

#include "tapegrad/core/error.h"
#include "tapegrad/nn/options.h"

namespace tapegrad::TAPEGRAD_SCALAR::detail {

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

}  // namespace tapegrad::TAPEGRAD_SCALAR::detail
