#pragma once

#include <condition_variable>
#include <exception>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>

#include "tapegrad/core/random.h"
#include "tapegrad/nn/data/idx.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct Batch {
  Tensor images;   ///< (N, 1, H, W) in [0, 1]
  Indices labels;  ///< (N)
};

/// The batches of one pass over a set, to be walked once, prepared one ahead in the background:
///
///     for (const auto& [images, labels] : Batches(train, 64, random)) ...
///
/// The order follows from `random` alone; `first` batches are skipped, to resume a pass. The last
/// batch may be smaller. The set must outlive the batches.
class Batches {
 public:
  /// In random order. Throws ShapeError for an empty set, a size below 1 or a negative
  /// `first`.
  Batches(const ImageSet& set, Index size, Random& random, Index first = 0);
  /// In order, for evaluation.
  Batches(const ImageSet& set, Index size);
  Batches(const Batches&) = delete;  // the background thread works for this object
  Batches& operator=(const Batches&) = delete;
  ~Batches();

  /// How many batches a whole pass has.
  Index count() const;

  class Iterator {
   public:
    explicit Iterator(Batches* batches) : batches_(batches) { ++*this; }
    const Batch& operator*() const { return *current_; }
    Iterator& operator++() {
      current_ = batches_->next();
      return *this;
    }
    bool operator!=(std::default_sentinel_t) const { return current_.has_value(); }

   private:
    Batches* batches_;
    std::optional<Batch> current_;
  };
  Iterator begin() { return Iterator(this); }
  static std::default_sentinel_t end() { return {}; }

 private:
  Batches(const ImageSet& set, Index size, Indices order, Index first);
  Batch prepare(Index batch) const;
  void prepare_all(Index first);
  /// The next batch, or none after the last. Throws what its preparation threw.
  std::optional<Batch> next();

  const ImageSet& set_;
  Index size_;
  Indices order_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::optional<Batch> ready_;
  std::exception_ptr failure_;
  bool finished_ = false;  // the worker has nothing more to prepare
  bool stopping_ = false;  // nobody waits for more
  std::thread worker_;     // last: it uses what stands above
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
