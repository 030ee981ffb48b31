#pragma once

#include <future>
#include <vector>

#include "tapegrad/core/random.h"
#include "tapegrad/nn/data/idx.h"

namespace tapegrad {

struct Batch {
  Tensor images;   ///< (N, 1, H, W) in [0, 1]
  Indices labels;  ///< (N)
};

/// The batches of one pass over a set, prepared one ahead in the background:
///
///     for (const auto& [images, labels] : Batches(train, 64, random)) ...
///
/// The order follows from `random` alone; `first` batches are skipped, to resume a pass. The last
/// batch may be smaller. The set must outlive the batches.
class Batches {
 public:
  /// In random order. Throws ShapeError for a size below 1.
  Batches(const ImageSet& set, Index size, Random& random, Index first = 0);
  /// In order, for evaluation.
  Batches(const ImageSet& set, Index size);

  /// How many batches a whole pass has.
  Index count() const;

  class Iterator {
   public:
    explicit Iterator(Batches* batches) : batches_(batches) { ++*this; }
    const Batch& operator*() const { return current_; }
    Iterator& operator++();
    bool operator!=(std::default_sentinel_t) const { return batches_ != nullptr; }

   private:
    Batches* batches_;
    Batch current_;
  };
  Iterator begin() { return Iterator(this); }
  static std::default_sentinel_t end() { return {}; }

 private:
  Batches(const ImageSet& set, Index size, Indices order, Index first);
  Batch prepare(Index batch) const;
  void prepare_next();

  const ImageSet& set_;
  Index size_;
  Indices order_;
  Index next_;
  std::future<Batch> prepared_;
};

}  // namespace tapegrad
