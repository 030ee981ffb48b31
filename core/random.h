#pragma once

#include <array>
#include <memory>
#include <vector>

#include "tapegrad/core/indices.h"
#include "tapegrad/core/internal/philox.h"
#include "tapegrad/core/scoped.h"
#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A stream of random numbers. The n-th number is a function of the seed and n alone (`philox`), so
/// neither threads nor the order of tiles affect it. A copy continues independently.
/// Example: `Random(1).normal({2, 3})`
class Random {
 public:
  explicit Random(std::uint64_t seed) : seed_(seed) {}

  /// Independent numbers from [low, high). All draws throw ArgumentError for invalid bounds,
  /// deviations and probabilities.
  Tensor uniform(const Shape& shape, double low = 0, double high = 1);
  /// Independent numbers from the normal distribution (Box-Muller).
  Tensor normal(const Shape& shape, double mean = 0, double deviation = 1);
  /// 1 with the given probability, in steps of 2^-32, otherwise 0.
  Tensor bernoulli(const Shape& shape, double probability);
  /// What `bernoulli` would draw for `count` elements, computed when it is read.
  Choices choices(Index count, double probability);
  /// 0 to count - 1 in random order, of shape (count).
  Indices permutation(Index count);
  /// For each row a position, drawn with probabilities in proportion to the row's weights.
  ///   weights: (..., C)   returns (...)
  /// Throws ShapeError for a scalar, and ArgumentError for a row whose weights are negative, not
  /// finite or all 0.
  Indices categorical(const Tensor& weights);
  /// A number from [0, 1).
  double uniform();
  /// A whole number from [0, count). Throws ArgumentError for count < 1.
  Index below(Index count);
  /// An independent stream that depends only on this one's seed and on `name`.
  Random stream(std::uint64_t name) const;

  /// Seed and position, for a checkpoint.
  std::array<std::uint64_t, 2> state() const { return {seed_, position_}; }
  void restore(const std::array<std::uint64_t, 2>& state);

 private:
  friend class RandomJournal;
  /// Tells journals, which may outlive the Random, that it has ended. Copying a Random does not
  /// copy its anchor.
  class Anchor {
   public:
    Anchor() = default;
    Anchor(const Anchor&) {}
    Anchor& operator=(const Anchor&) { return *this; }
    ~Anchor() {
      if (at_ != nullptr) *at_ = nullptr;
    }
    const std::shared_ptr<Random*>& of(Random& random) {
      if (at_ == nullptr) at_ = std::make_shared<Random*>(&random);
      return at_;
    }

   private:
    std::shared_ptr<Random*> at_;
  };

  /// Advances by `blocks`; returns where they begin.
  std::uint64_t advance(std::uint64_t blocks);
  template <class Fill>
  Tensor fill(const Shape& shape, const Fill& value_of_block);

  std::uint64_t seed_;
  std::uint64_t position_ = 0;
  Anchor anchor_;
};

/// While in scope, records the state of every Random before its first draw on this thread.
/// Example: `RandomJournal journal; random.uniform(); journal.entries().size()`
class RandomJournal {
 public:
  struct Entry {
    std::shared_ptr<Random* const> random;  ///< points to null once the Random has ended
    std::array<std::uint64_t, 2> state;
  };
  RandomJournal();

  const std::vector<Entry>& entries() const { return entries_; }

 private:
  friend class Random;
  void note(Random& random);

  std::vector<Entry> entries_;
  Scoped<RandomJournal*> innermost_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
