#pragma once

#include <span>
#include <tuple>

#include "tapegrad/core/indices.h"
#include "tapegrad/core/options.h"
#include "tapegrad/core/random.h"
#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The chosen rows of x, of shape (N, ...): x[chosen], of shape (chosen, ...), on no tape. Both
/// throw ShapeError for scalars and for rows out of range.
/// Example: `take_rows(x, std::vector<Index>{0, 2})`
Tensor take_rows(const Tensor& x, std::span<const Index> chosen);
Indices take_rows(const Indices& x, std::span<const Index> chosen);

/// Rows [begin, end) of x, of shape (N, ...), on no tape. Both throw ShapeError for scalars and for
/// a range that exceeds x.
/// Example: `part(labels, 0, 2)`
Tensor part(const Tensor& x, Index begin, Index end);
Indices part(const Indices& x, Index begin, Index end);

/// Tensors and indices with corresponding rows: row i of each belongs to example i.
///
///     const Examples train(images, labels);
///     for (const auto& [x, y] : Batches(train, 64, random)) ...
/// Example: `const Examples train(x, labels)`
template <class... Columns>
class Examples {
 public:
  /// columns: of shape (N, ...). Throws ShapeError unless all have the same number of rows.
  explicit Examples(const Columns&... columns) : columns_(columns...) {
    expect_defined("examples", columns...);
    for (const Shape& shape : {columns.shape()...}) {
      expect(shape.rank() >= 1, "examples: a scalar has no rows: {}", shape);
      expect(shape[0] == count(), "examples: the columns differ in the number of rows: {} and {}",
             count(), shape[0]);
    }
  }

  Index count() const { return std::get<0>(columns_).shape()[0]; }
  const std::tuple<Columns...>& columns() const { return columns_; }
  /// The chosen examples, a tuple of tensors and indices. Throws ShapeError for positions out of
  /// range.
  std::tuple<Columns...> batch(std::span<const Index> chosen) const {
    return std::apply(
        [&](const Columns&... columns) { return std::tuple(take_rows(columns, chosen)...); },
        columns_);
  }

 private:
  std::tuple<Columns...> columns_;
};

namespace detail {
/// How many of `count` examples the first part of a random split has.
Index split_size(Index count, double share);
}  // namespace detail

/// The set in two parts, drawn at random: this share of its examples, rounded to a whole number,
/// and the others. Split the second part again for a third. Throws ArgumentError for a share
/// outside [0, 1].
/// Example: `const auto [train, test] = random_split(Examples(logits, labels), 0.75, random)`
template <class... Columns>
std::pair<Examples<Columns...>, Examples<Columns...>> random_split(const Examples<Columns...>& set,
                                                                   double share, Random& random) {
  const auto first = static_cast<std::size_t>(detail::split_size(set.count(), share));
  const Indices order = random.permutation(set.count());
  const auto part = [&](std::span<const Index> chosen) {
    return std::make_from_tuple<Examples<Columns...>>(set.batch(chosen));
  };
  return {part(order.values().first(first)), part(order.values().subspan(first))};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
