#include "failing_memory.h"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <thread>

namespace {

using tapegrad::testing::Shortage;

std::atomic<bool> short_now{false};
std::atomic<std::int64_t> left{0};  // allocations that still succeed
std::atomic<std::int64_t> object_count{0};
Shortage shortage;      // of the scope, changed outside of it only
std::thread::id owner;  // its thread

bool fails() {
  if (!short_now || (std::this_thread::get_id() == owner) == shortage.other_threads) return false;
  const std::int64_t before = left.fetch_sub(1);
  return before == 0 || (before < 0 && shortage.lasting);
}

}  // namespace

// The linker (--wrap) redirects calls of std::aligned_alloc and mmap to these functions.
extern "C" {
void* __real_aligned_alloc(std::size_t alignment, std::size_t bytes);
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes);
void* __real_mmap(void* address, std::size_t bytes, int access, int kind, int file, off_t offset);
void* __wrap_mmap(void* address, std::size_t bytes, int access, int kind, int file, off_t offset);
}

void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return fails() ? nullptr : __real_aligned_alloc(alignment, bytes);
}

void* __wrap_mmap(void* address, std::size_t bytes, int access, int kind, int file, off_t offset) {
  if (!fails()) return __real_mmap(address, bytes, access, kind, file, offset);
  errno = ENOMEM;
  return MAP_FAILED;
}

void* operator new(std::size_t bytes) {
  void* memory = fails() ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  ++object_count;
  return memory;
}

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  void* memory = fails() ? nullptr : __real_aligned_alloc(unit, (bytes / unit + 1) * unit);
  if (memory == nullptr) throw std::bad_alloc();
  ++object_count;
  return memory;
}

void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  --object_count;
  std::free(memory);
}

// The other forms call these.
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { operator delete(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  operator delete(memory);
}

namespace tapegrad::testing {

ShortMemory::ShortMemory(const Shortage& wanted) {
  shortage = wanted;
  owner = std::this_thread::get_id();
  left = wanted.after;
  short_now = true;
}

ShortMemory::~ShortMemory() { short_now = false; }

bool ShortMemory::struck() { return left < 0; }

std::int64_t objects() { return object_count; }

}  // namespace tapegrad::testing
