#include "tapegrad/core/internal/storage.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>

#include "tapegrad/core/error.h"

// Null without the address sanitizer, which guards only the blocks of malloc.
extern "C" void __asan_init() __attribute__((weak));

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

std::atomic<std::int64_t> system_allocations{0};
std::atomic<std::int64_t> system_bytes{0};

constexpr std::size_t page = std::size_t{64} << 10;  // whole pages of any system
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

bool is_mapped(std::size_t bytes) { return bytes >= huge_page && __asan_init == nullptr; }

// Memory for a block: a large one gets pages of its own, which return to the system at once. It
// starts with a huge page and has whole ones only: a short end would take 2 MB too.
void* request(std::size_t bytes) {
  if (!is_mapped(bytes)) return std::aligned_alloc(64, bytes);
  constexpr int access = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS;
  void* room = mmap(nullptr, bytes + huge_page, access, kind, -1, 0);
  if (room == MAP_FAILED) return nullptr;
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(room) % huge_page;
  std::byte* memory = static_cast<std::byte*>(room) + before;
  if (before > 0) munmap(room, before);
  munmap(memory + bytes, huge_page - before);
  const std::size_t whole = bytes / huge_page * huge_page;
  madvise(memory, whole, MADV_HUGEPAGE);
  madvise(memory + whole, bytes - whole, MADV_NOHUGEPAGE);
  return memory;
}

// malloc keeps what is freed between blocks in use, so the whole pages of a block go back first.
void return_to_system(void* memory, std::size_t bytes) {
  if (is_mapped(bytes)) {
    munmap(memory, bytes);
    return;
  }
  static const auto system_page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(memory) % system_page;
  if (bytes >= before + system_page) {
    const std::size_t whole = (bytes - before) / system_page * system_page;
    madvise(static_cast<std::byte*>(memory) + before, whole, MADV_DONTNEED);
  }
  std::free(memory);
}

[[noreturn]] void refuse(std::size_t bytes) {
  throw MemoryError(fmt::format("storage: cannot allocate {} bytes", bytes));
}

}  // namespace

// The blocks of one thread. It lives until the thread has ended and its last block is freed.
//
// A step needs, of each size, as many blocks as are in use at once. Repeated with the same shapes,
// it finds them all idle; with other shapes, it would add to them. So a pool holds at most an
// eighth more than its largest step needed: it gives idle blocks back before it requests others.
// A step is over when its tape ends, or when it has given back all that it took, if that is more
// than the scratch of kernels.
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
    Size& size = sizes_[size_class];
    if (size.idle == nullptr && has_returned_.load(std::memory_order_acquire)) collect_returned();
    Block* block = size.idle;
    if (block != nullptr) {
      size.idle = block->next;
      block->references.store(1, std::memory_order_relaxed);
    } else {
      block = from_system(size_class);
    }
    taken_ += block->bytes;
    begin_step_of(size);
    if (++size.used > size.most_used) {
      size.most_used = size.used;
      needed_ += block->bytes;
    }
    return block;
  }

  void end_step() {
    largest_step_ -= largest_step_ / steps_remembered;
    shrink_to(limit(0));
    begin_step();
  }

  static void give_back(Block* block) {
    Pool* pool = block->pool;
    if (pool != nullptr && pool == current) [[likely]]
      return pool->keep(block);
    give_back_elsewhere(block);
  }
  // Apart, so that it saves no registers for the blocks of this thread.
  [[gnu::noinline]] static void give_back_elsewhere(Block* block) {
    Pool* pool = block->pool;
    if (pool == nullptr) return delete block;  // foreign memory
    std::unique_lock lock(pool->mutex_);
    if (!pool->ended_) {
      block->next = pool->returned_;
      pool->returned_ = block;
      pool->has_returned_.store(true, std::memory_order_release);
      return;
    }
    const bool last = pool->to_system(block);
    lock.unlock();
    if (last) delete pool;
  }

 private:
  struct Size {
    Block* idle = nullptr;
    std::int32_t held = 0;
    std::int32_t used = 0;
    std::int32_t most_used = 0;  // at once, in the step
    std::int64_t step = 0;       // the last that took or gave back such a block
  };

  // A large step is forgotten in about so many.
  static constexpr int steps_remembered = 256;
  // A step that keeps some of what it took is over when it has taken so many times what the pool
  // holds.
  static constexpr int longest_step = 16;

  // Room for what kernels take on several threads, one after another: up to 3 MB were seen.
  static constexpr std::int64_t largest_scratch = 8 << 20;

  static std::int64_t block_bytes(int size_class) {
    const std::size_t bytes = sizeof(Block) + class_bytes(size_class);
    const std::size_t unit = is_mapped(bytes) ? page : alignof(Block);
    return static_cast<std::int64_t>((bytes + unit - 1) / unit * unit);
  }

  std::int64_t in_use() const { return taken_ - given_back_; }

  void begin_step() {
    largest_step_ = std::max(largest_step_, needed_);
    needed_ = used_before_ = in_use();
    taken_before_ = taken_;
    ++step_;
  }

  void begin_step_of(Size& size) const {
    if (size.step == step_) return;
    size.step = step_;
    size.most_used = size.used;
  }

  // What the pool may hold when this step needs so many bytes more.
  std::int64_t limit(std::int64_t more) const {
    const std::int64_t needed = std::max(largest_step_, needed_ + more);
    return needed + needed / 8;
  }

  Block* from_system(int size_class) {
    const std::int64_t bytes = block_bytes(size_class);
    if (taken_ - taken_before_ > longest_step * held_) end_step();
    shrink_to(limit(bytes) - bytes);
    void* memory = request(static_cast<std::size_t>(bytes));
    if (memory == nullptr && shrink_to(0)) memory = request(static_cast<std::size_t>(bytes));
    if (memory == nullptr) refuse(static_cast<std::size_t>(bytes));
    system_allocations.fetch_add(1, std::memory_order_relaxed);
    system_bytes.fetch_add(bytes, std::memory_order_relaxed);
    held_ += bytes;
    ++sizes_[size_class].held;
    auto* block = new (memory) Block;
    block->size_class = size_class;
    block->bytes = bytes;
    block->pool = this;
    return block;
  }

  // Whether it was the last one.
  bool to_system(Block* block) {
    const std::int64_t bytes = block->bytes;
    system_bytes.fetch_sub(bytes, std::memory_order_relaxed);
    held_ -= bytes;
    --sizes_[block->size_class].held;
    return_to_system(block, static_cast<std::size_t>(bytes));
    return held_ == 0;
  }

  void keep(Block* block) {
    Size& size = sizes_[block->size_class];
    block->next = size.idle;
    size.idle = block;
    begin_step_of(size);
    --size.used;
    given_back_ += block->bytes;
    if (in_use() <= used_before_ && held_ > largest_scratch) begin_step();
  }

  // Gives idle blocks back until the pool holds at most so much: first those that this step did not
  // need, and of these the largest. Returns whether it gave any.
  bool shrink_to(std::int64_t most) {
    const std::int64_t before = held_;
    if (held_ > most) collect_returned();
    for (const bool also_needed : {false, true}) {
      for (int i = class_count - 1; i >= 0 && held_ > most; --i) {
        Size& size = sizes_[i];
        begin_step_of(size);
        while (held_ > most && size.idle != nullptr &&
               (also_needed || size.held > size.most_used)) {
          Block* block = std::exchange(size.idle, size.idle->next);
          to_system(block);
        }
      }
    }
    return held_ < before;
  }

  void collect_returned() {
    const std::lock_guard lock(mutex_);
    while (Block* block = returned_) {
      returned_ = block->next;
      keep(block);
    }
    has_returned_.store(false, std::memory_order_relaxed);
  }

  // Blocks still in use are freed when they are given back, and the pool with the last of them.
  void end() {
    shrink_to(0);
    std::unique_lock lock(mutex_);
    ended_ = true;
    while (Block* block = returned_) {  // since
      returned_ = block->next;
      to_system(block);
    }
    const bool last = held_ == 0;
    lock.unlock();
    if (last) delete this;
  }

  static constinit thread_local Pool* current;
  static constinit thread_local bool thread_ended;

  std::array<Size, class_count> sizes_{};
  std::int64_t held_ = 0;          // guarded by mutex_ once the thread has ended
  std::int64_t taken_ = 0;         // ever
  std::int64_t given_back_ = 0;    // ever
  std::int64_t step_ = 0;          // its number
  std::int64_t taken_before_ = 0;  // before this step
  std::int64_t used_before_ = 0;   // before this step
  std::int64_t needed_ = 0;        // by this step
  std::int64_t largest_step_ = 0;  // what it needed; decays
  std::mutex mutex_;
  std::atomic<bool> has_returned_{false};
  Block* returned_ = nullptr;  // guarded by mutex_
  bool ended_ = false;         // guarded by mutex_
};

constinit thread_local Storage::Pool* Storage::Pool::current = nullptr;
constinit thread_local bool Storage::Pool::thread_ended = false;
constinit thread_local StorageCensus* Storage::census_ = nullptr;

Storage Storage::allocate(std::size_t bytes) {
  if (bytes > class_bytes(class_count - 1)) refuse(bytes);
  return Storage(Pool::mine().take(bytes));
}

Storage Storage::foreign(Index bytes, std::shared_ptr<const void> owner) {
  return Storage(new Block{.bytes = bytes + Index{sizeof(Block)}, .owner = std::move(owner)});
}

void Storage::give_back() { Pool::give_back(block_); }

void Storage::end_step() { Pool::mine().end_step(); }

std::size_t Storage::capacity() const {
  return block_ == nullptr ? 0 : static_cast<std::size_t>(block_->bytes) - sizeof(Block);
}

void Storage::count() const {
  if (census_->seen_.insert(block_).second) census_->bytes_ += capacity();
}

MemoryUse memory_use() { return {system_allocations.load(), system_bytes.load()}; }

StorageCensus::StorageCensus() { Storage::census_ = this; }
StorageCensus::~StorageCensus() { Storage::census_ = nullptr; }

}  // namespace tapegrad::TAPEGRAD_SCALAR
