#include "tapegrad/core/parallel.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>

#include "tapegrad/core/error.h"
#include "tapegrad/core/internal/quota.h"

#ifdef __linux__
#include <sched.h>
#endif

#ifdef TAPEGRAD_STD_THREADS
#include <atomic>
#include <exception>
#include <mutex>
#include <vector>
#else
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// The number of processors that this process may use.
int available_processors() {
#ifdef __linux__
  std::ifstream file("/proc/self/cgroup");
  const std::string groups(std::istreambuf_iterator<char>(file), {});
  const int quota = processors_of_quota(groups, "/sys/fs/cgroup").value_or(CPU_SETSIZE);
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
    return std::min(quota, CPU_COUNT(&allowed));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int thread_count = available_processors();

#ifdef TAPEGRAD_STD_THREADS
// Debian's oneTBB is not instrumented for the thread sanitizer, which then reports false races. In
// that build, tiles run on plain threads.
void run_on_threads(Index tiles, void (*run)(const void*, Index), const void* body) {
  std::atomic<Index> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto work = [&] {
    try {
      for (Index tile = next++; tile < tiles; tile = next++) run(body, tile);
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      failure = std::current_exception();
    }
  };
  std::vector<std::thread> workers;
  for (Index i = 1; i < std::min<Index>(thread_count, tiles); ++i) workers.emplace_back(work);
  work();
  for (std::thread& worker : workers) worker.join();
  if (failure) std::rethrow_exception(failure);
}
#else
struct Workers {
  explicit Workers(int count)
      : limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(count)),
        arena(count) {}
  tbb::global_control limit;
  tbb::task_arena arena;
};

std::unique_ptr<Workers>& workers() {
  static auto instance = std::make_unique<Workers>(thread_count);
  return instance;
}

void run_on_threads(Index tiles, void (*run)(const void*, Index), const void* body) {
  workers()->arena.execute([&] {
    // Isolated: a thread that waits here must not pick up unrelated tasks that record operations.
    tbb::this_task_arena::isolate([&] {
      tbb::parallel_for(
          Index{0}, tiles, [&](Index tile) { run(body, tile); }, tbb::simple_partitioner());
    });
  });
}
#endif

}  // namespace

int threads() { return thread_count; }

void set_threads(int count) {
  expect<ArgumentError>(count >= 1, "set_threads: needs at least one thread: {}", count);
#ifndef TAPEGRAD_STD_THREADS
  workers() = std::make_unique<Workers>(count);
#endif
  thread_count = count;
}

void detail::run_tiles(Index tiles, void (*run)(const void*, Index), const void* body) {
  if (thread_count == 1)
    for (Index tile = 0; tile < tiles; ++tile) run(body, tile);
  else
    run_on_threads(tiles, run, body);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
