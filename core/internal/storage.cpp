#include "tapegrad/core/internal/storage.h"

#include <sys/mman.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>

#include "tapegrad/core/error.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

std::atomic<std::int64_t> system_allocations{0};
std::atomic<std::int64_t> system_bytes{0};

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t smallest = 64;
constexpr int class_count = 4 * 42;

// Four size classes per doubling waste at most a quarter of a block.
int class_of(std::size_t bytes) {
  if (bytes <= smallest) return 0;
  const int log = std::bit_width(bytes - 1) - 1;
  const std::size_t quarter = (bytes - 1) >> (log - 2) & 3;
  return 4 * (log - 6) + static_cast<int>(quarter) + 1;
}

std::size_t class_bytes(int size_class) {
  if (size_class == 0) return smallest;
  const int log = (size_class - 1) / 4 + 6;
  return (std::size_t{1} << log) +
         ((static_cast<std::size_t>(size_class - 1) % 4 + 1) << (log - 2));
}

[[noreturn]] void refuse(std::size_t bytes) {
  throw MemoryError(fmt::format("storage: cannot allocate {} bytes", bytes));
}

}  // namespace

// The free lists of one thread. It lives until the thread has ended and its last block is freed.
class Storage::Pool {
 public:
  static Pool& mine() {
    struct Handle {
      Pool* pool = new Pool;
      ~Handle() {
        current = nullptr;
        thread_ended = true;
        pool->end();
      }
    };
    if (current == nullptr) [[unlikely]] {
      if (thread_ended) {  // static destructors may still allocate: that pool is not reused
        current = new Pool;
      } else {
        thread_local Handle handle;
        current = handle.pool;
      }
    }
    return *current;
  }

  Block* take(std::size_t bytes) {
    const int size_class = class_of(bytes);
    if (free_[size_class] == nullptr && has_returned_.load(std::memory_order_acquire))
      collect_returned();
    if (Block* block = free_[size_class]) {
      free_[size_class] = block->next;
      block->references.store(1, std::memory_order_relaxed);
      return block;
    }
    return from_system(size_class);
  }

  static void give_back(Block* block) {
    Pool* owner = block->owner;
    if (owner == current) {
      block->next = owner->free_[block->size_class];
      owner->free_[block->size_class] = block;
      return;
    }
    std::unique_lock lock(owner->mutex_);
    if (!owner->ended_) {
      block->next = owner->returned_;
      owner->returned_ = block;
      owner->has_returned_.store(true, std::memory_order_release);
      return;
    }
    const bool last = --owner->blocks_ == 0;
    lock.unlock();
    to_system(block);
    if (last) delete owner;
  }

 private:
  Block* from_system(int size_class) {
    const std::size_t bytes = sizeof(Block) + class_bytes(size_class);
    const std::size_t alignment = bytes >= huge_page ? huge_page : alignof(Block);
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void* memory = std::aligned_alloc(alignment, rounded);
    if (memory == nullptr) refuse(bytes);
    if (alignment == huge_page) {  // whole pages only: a short end would take 2 MB too
      const std::size_t whole = bytes / huge_page * huge_page;
      madvise(memory, whole, MADV_HUGEPAGE);
      madvise(static_cast<std::byte*>(memory) + whole, rounded - whole, MADV_NOHUGEPAGE);
    }
    system_allocations.fetch_add(1, std::memory_order_relaxed);
    system_bytes.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
    auto* block = new (memory) Block;
    block->size_class = size_class;
    block->owner = this;
    const std::lock_guard lock(mutex_);
    ++blocks_;
    return block;
  }

  static void to_system(Block* block) {
    system_bytes.fetch_sub(
        static_cast<std::int64_t>(sizeof(Block) + class_bytes(block->size_class)),
        std::memory_order_relaxed);
    std::free(block);
  }

  void free_all(Block* list) {
    while (Block* block = list) {
      list = block->next;
      to_system(block);
      --blocks_;
    }
  }

  void collect_returned() {
    const std::lock_guard lock(mutex_);
    while (Block* block = returned_) {
      returned_ = block->next;
      block->next = free_[block->size_class];
      free_[block->size_class] = block;
    }
    has_returned_.store(false, std::memory_order_relaxed);
  }

  // Blocks still in use are freed when they are given back, and the pool with the last of them.
  void end() {
    std::unique_lock lock(mutex_);
    ended_ = true;
    free_all(returned_);
    for (Block* list : free_) free_all(list);
    const bool last = blocks_ == 0;
    lock.unlock();
    if (last) delete this;
  }

  static constinit thread_local Pool* current;
  static constinit thread_local bool thread_ended;

  std::array<Block*, class_count> free_{};
  std::mutex mutex_;
  std::atomic<bool> has_returned_{false};
  Block* returned_ = nullptr;  // guarded by mutex_
  std::int64_t blocks_ = 0;    // guarded by mutex_
  bool ended_ = false;         // guarded by mutex_
};

constinit thread_local Storage::Pool* Storage::Pool::current = nullptr;
constinit thread_local bool Storage::Pool::thread_ended = false;
constinit thread_local StorageCensus* Storage::census_ = nullptr;

Storage Storage::allocate(std::size_t bytes) {
  if (bytes > class_bytes(class_count - 1)) refuse(bytes);
  return Storage(Pool::mine().take(bytes));
}

void Storage::give_back() { Pool::give_back(block_); }

std::size_t Storage::capacity() const {
  return block_ == nullptr ? 0 : class_bytes(block_->size_class);
}

void Storage::count() const {
  if (census_->seen_.insert(block_).second) census_->bytes_ += capacity();
}

MemoryUse memory_use() { return {system_allocations.load(), system_bytes.load()}; }

StorageCensus::StorageCensus() { Storage::census_ = this; }
StorageCensus::~StorageCensus() { Storage::census_ = nullptr; }

}  // namespace tapegrad::TAPEGRAD_SCALAR
