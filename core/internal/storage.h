#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_set>
#include <utility>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

class StorageCensus;

/// A reference-counted block of memory, aligned to 64 bytes. A block comes from a free list of the
/// requesting thread and returns to that list, whichever thread frees it. A training loop with
/// fixed shapes thus asks the system for memory only in its first steps. Idle blocks go back to it
/// when shapes vary, and before an allocation fails.
class Storage {
 public:
  Storage() = default;
  /// A block of at least `bytes` bytes, uninitialized. Throws MemoryError.
  static Storage allocate(std::size_t bytes);
  /// Stands for `bytes` bytes elsewhere that `owner` keeps alive. It has no data() and is never
  /// unique. The owner is released with the last copy, by the thread that drops it.
  static Storage foreign(Index bytes, std::shared_ptr<const void> owner);
  /// Says that a step of this thread is over, such as a training step. What it used at once is what
  /// the thread keeps, and an eighth more.
  static void end_step();

  Storage(const Storage& other) : block_(other.block_) {
    if (block_ != nullptr) retain();
  }
  Storage(Storage&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Storage& operator=(Storage other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Storage() {
    if (block_ != nullptr) release();
  }

  void* data() const { return block_ == nullptr ? nullptr : block_ + 1; }
  /// Whether nothing else refers to this block, so that its owner may change it in place.
  bool unique() const { return block_ != nullptr && block_->pool != nullptr && only_reference(); }
  /// The size of the block, at least the requested bytes.
  std::size_t capacity() const;

 private:
  class Pool;
  /// The header that precedes the values.
  struct alignas(64) Block {
    std::atomic<std::int32_t> references{1};
    std::int32_t size_class = 0;
    std::int64_t bytes = 0;  // with this header
    Pool* pool = nullptr;    // null for foreign memory
    Block* next = nullptr;
    std::shared_ptr<const void> owner = nullptr;  // of foreign memory
  };
  explicit Storage(Block* block) : block_(block) {}
  bool only_reference() const { return block_->references.load(std::memory_order_acquire) == 1; }
  void retain() const {
    block_->references.fetch_add(1, std::memory_order_relaxed);
    if (census_ != nullptr) [[unlikely]]
      count();
  }
  // The only owner needs no atomic subtraction: nobody else can add a reference.
  void release() {
    if (only_reference() || block_->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
      give_back();
  }
  void count() const;
  void give_back();

  friend class StorageCensus;
  static constinit thread_local StorageCensus* census_;
  Block* block_ = nullptr;
};

/// The memory that this process has requested from the system for storage.
struct MemoryUse {
  std::int64_t allocations;  ///< how many requests so far
  std::int64_t bytes;        ///< bytes currently held, in use or on free lists
};
MemoryUse memory_use();

/// While in scope, counts the distinct blocks copied on this thread. Copying an opaque closure thus
/// shows what it keeps alive. `Tape::bytes` uses it.
class StorageCensus {
 public:
  StorageCensus();
  ~StorageCensus();
  StorageCensus(const StorageCensus&) = delete;
  StorageCensus& operator=(const StorageCensus&) = delete;

  std::size_t bytes() const { return bytes_; }

 private:
  friend class Storage;
  std::unordered_set<const void*> seen_;
  std::size_t bytes_ = 0;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
