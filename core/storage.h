#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <utility>

namespace tapegrad {

/// A reference-counted block of memory, aligned to 64 bytes. Blocks come from a free list of the
/// thread that asks and go back to that list from wherever they are freed, so a training loop asks
/// the system for memory in its first steps only.
class Storage {
 public:
  Storage() = default;
  /// A block of at least `bytes` bytes, not initialized. Throws std::bad_alloc.
  static Storage allocate(std::size_t bytes);

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

  void* data() const;
  /// Whether nothing else refers to this block, so that its owner may change it in place.
  bool unique() const;
  /// The size of the block, at least the bytes asked for.
  std::size_t capacity() const;

 private:
  struct Block;
  class Pool;
  explicit Storage(Block* block) : block_(block) {}
  void retain() const;
  void release();

  friend class StorageCensus;
  Block* block_ = nullptr;
};

/// What this process has asked of the system for storage so far.
struct MemoryUse {
  std::int64_t allocations;  ///< how many times the system was asked
  std::int64_t bytes;        ///< bytes now held, in use or on free lists
};
MemoryUse memory_use();

/// While in scope, counts the distinct blocks that are copied on this thread: copying an opaque
/// closure shows what it holds on to. `Tape::bytes` rests on it.
class StorageCensus {
 public:
  StorageCensus();
  ~StorageCensus();
  StorageCensus(const StorageCensus&) = delete;
  StorageCensus& operator=(const StorageCensus&) = delete;

  std::size_t bytes() const { return bytes_; }

 private:
  friend class Storage;
  void count(const Storage::Block* block, std::size_t bytes);

  std::unordered_set<const void*> seen_;
  std::size_t bytes_ = 0;
};

}  // namespace tapegrad
