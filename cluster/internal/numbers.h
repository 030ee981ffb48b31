#pragma once

#include <iterator>
#include <span>

#include "tapegrad/core/internal/storage.h"
#include "tapegrad/core/machine/parallel.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Numbers in memory that the next list can have again, not initialized.
template <class Number>
class Numbers {
 public:
  explicit Numbers(std::size_t size)
      : storage_(Storage::allocate(size * sizeof(Number))), size_(size) {}
  std::span<Number> span() const { return {static_cast<Number*>(storage_.data()), size_}; }
  std::span<Number> part(std::size_t begin, std::size_t end) const {
    return span().subspan(begin, end - begin);
  }

 private:
  Storage storage_;
  std::size_t size_;
};

/// Adds to as many numbers.
template <class Number>
void add_to(std::span<Number> sum, std::span<const Number> numbers) {
  parallel_ranges(std::ssize(sum), elements_per_tile, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) sum[i] += numbers[i];
  });
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
