#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <vector>

#include "tapegrad/core/random.h"
#include "tapegrad/io/examples.h"
#include "tapegrad/io/read_ahead.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A data set: `Examples`, an `ImageSet`, or any type that counts its examples and makes a batch of
/// chosen ones.
template <class Set>
concept ExampleSet = requires(const Set& set, std::span<const Index> chosen) {
  { set.count() } -> std::convertible_to<Index>;
  set.batch(chosen);
};

namespace detail {
/// The number of batches of `size` in an epoch of `count` examples. Throws ArgumentError for an
/// empty set and for a size below 1.
Index batch_count(Index count, Index size);
/// The order of the examples in an epoch: random, or from 0 on. Throws ArgumentError for an empty
/// set.
Indices batch_order(Index count, Random* random);
}  // namespace detail

/// The lengths of an example: of a sequence alone with 0, or of both sequences of a pair.
/// Example: `const ExampleLengths pair{5, 3}`
using ExampleLengths = std::array<Index, 2>;

/// Batches of examples of similar length, for nets that pad. Each is a list of examples, sorted by
/// their first and then by their second length. The number of its examples times the greatest of
/// their lengths is at most `tokens`, but it has at least one example. `random` shuffles examples
/// of equal lengths and the batches. Throws ArgumentError if `tokens` is below 1.
/// Example: `batches_by_length({{5, 3}, {2, 2}, {2, 4}}, 8)`
std::vector<std::vector<Index>> batches_by_length(const std::vector<ExampleLengths>& lengths,
                                                  Index tokens, Random* random = nullptr);

/// The batches of one pass over a set, for one iteration. Each is prepared in the background while
/// the one before is in use:
///
///     for (const auto& [images, labels] : Batches(train, 64, random)) ...
///
/// The order depends on `random` alone. To resume a pass, skip the `first` batches. The last batch
/// may be smaller. The set must outlive the batches.
/// Example: `Examples set(x, labels); for (const auto& [a, b] : Batches(set, 2, random)) net(a)`
template <ExampleSet Set>
class Batches {
 public:
  using Batch = decltype(std::declval<const Set&>().batch(std::span<const Index>()));
  /// Applied to each batch in the background; `number` counts from 0.
  using Transform = std::function<Batch(Batch batch, Index number)>;

  /// In random order. Throws ArgumentError for an empty set, a size below 1 or a negative `first`.
  Batches(const Set& set, Index size, Random& random, Index first = 0, Transform transform = {})
      : Batches(set, size, detail::batch_order(set.count(), &random), first, std::move(transform)) {
  }
  /// In the order of the set, for evaluation.
  Batches(const Set& set, Index size)
      : Batches(set, size, detail::batch_order(set.count(), nullptr), 0, {}) {}

  /// Not of a temporary, which would end before the batches do.
  Batches(const Set&& set, Index size, Random& random, Index first = 0,
          Transform transform = {}) = delete;
  Batches(const Set&& set, Index size) = delete;

  /// The number of batches in a whole pass.
  Index count() const { return count_; }

  class Iterator {
   public:
    explicit Iterator(ReadAhead<Batch>* batches) : batches_(batches) { ++*this; }
    const Batch& operator*() const { return *current_; }
    Iterator& operator++() {
      current_ = batches_->next();
      return *this;
    }
    bool operator!=(std::default_sentinel_t) const { return current_.has_value(); }

   private:
    ReadAhead<Batch>* batches_;
    std::optional<Batch> current_;
  };
  Iterator begin() { return Iterator(&batches_); }
  static std::default_sentinel_t end() { return {}; }

 private:
  Batches(const Set& set, Index size, const Indices& order, Index first, Transform transform)
      : count_(detail::batch_count(order.size(), size)),
        batches_([&set, size, order, count = count_,
                  next = expect_not_negative("batches", "first", first),
                  transform = std::move(transform)]() mutable -> std::optional<Batch> {
          if (next >= count) return {};
          const Index number = next++, begin = number * size;
          const Index end = std::min(begin + size, order.size());
          Batch batch = set.batch(order.values().subspan(static_cast<std::size_t>(begin),
                                                         static_cast<std::size_t>(end - begin)));
          return transform ? transform(std::move(batch), number) : std::move(batch);
        }) {}

  Index count_;
  ReadAhead<Batch> batches_;
};

/// The batches of a whole run, by step. Each epoch has its own order, and each batch its own
/// stream of random numbers for the transform. Both depend on the seed and the step alone, so a
/// resumed run sees the same batches as an uninterrupted one:
///
///     EpochBatches batches(train, 64, seed, [](auto batch, Random& random) { ... });
///     const auto& [images, labels] = batches.at(step);
///
/// The set must outlive the batches.
/// Example: `const Examples set(x, labels); EpochBatches batches(set, 2, 1); batches.at(0)`
template <ExampleSet Set>
class EpochBatches {
 public:
  using Batch = typename Batches<Set>::Batch;
  using Transform = std::function<Batch(Batch batch, Random& random)>;

  /// Throws ArgumentError for an empty set and for a size below 1.
  EpochBatches(const Set& set, Index size, std::uint64_t seed, Transform transform = {})
      : set_(set),
        size_(size),
        random_(seed),
        transform_(std::move(transform)),
        per_epoch_(detail::batch_count(set.count(), size)) {}

  /// Not of a temporary, which would end before the batches do.
  EpochBatches(const Set&& set, Index size, std::uint64_t seed, Transform transform = {}) = delete;

  Index per_epoch() const { return per_epoch_; }
  /// The number of examples in the batch of a step, counted from 0.
  Index rows(Index step) const {
    const Index begin = step % per_epoch_ * size_;
    return std::min(size_, set_.count() - begin);
  }

  /// The batch of a step, counted from 0; fast for the same and the next step. Valid until the next
  /// call. Throws ArgumentError for a step below 0.
  const Batch& at(Index step) {
    expect_not_negative("batches", "step", step);
    if (step == step_) return **batch_;
    if (step == step_ + 1 && step % per_epoch_ != 0)
      ++*batch_;
    else
      begin_at(step);
    step_ = step;
    return **batch_;
  }

 private:
  void begin_at(Index step) {
    step_ = -1;
    const auto epoch = static_cast<std::uint64_t>(step / per_epoch_);
    Random order = random_.stream(0).stream(epoch);
    typename Batches<Set>::Transform transform;
    if (transform_)
      transform = [transform_batch = transform_, random = random_.stream(1).stream(epoch)](
                      Batch batch, Index number) {
        Random own = random.stream(static_cast<std::uint64_t>(number));
        return transform_batch(std::move(batch), own);
      };
    epoch_ = std::make_unique<Batches<Set>>(set_, size_, order, step % per_epoch_, transform);
    batch_.emplace(epoch_->begin());
  }

  const Set& set_;
  Index size_;
  Random random_;
  Transform transform_;
  Index per_epoch_, step_ = -1;
  std::unique_ptr<Batches<Set>> epoch_;
  std::optional<typename Batches<Set>::Iterator> batch_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
