#include "tapegrad/core/machine/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tapegrad/core/error.h"
#include "tapegrad/core/machine/internal/quota.h"
#include "tapegrad/core/machine/profile.h"

#ifdef __linux__
#include <sched.h>
#endif

#ifndef TAPEGRAD_STD_THREADS
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <chrono>
#include <latch>
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

std::atomic<int> thread_count = available_processors();

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
// How many of `wanted` threads there can be, if some are `running`. To know it, starts the others
// and ends them again: oneTBB ends the program where the system refuses it one.
int possible_threads(int running, int wanted) {
  // What each needs besides its own stack: one of oneTBB's may be larger, and malloc looks for its
  // heap in twice 64 MiB.
  constexpr std::size_t room = 144 << 20;
  std::latch tried(1);
  std::vector<std::thread> started;
  started.reserve(static_cast<std::size_t>(wanted));
  std::vector<std::string> rooms;
  try {
    for (; running < wanted; ++running) {
      rooms.emplace_back().reserve(room);
      started.emplace_back([&] { tried.wait(); });
    }
  } catch (const std::exception&) {  // no more, by a limit of processes or memory
  }
  tried.count_down();
  for (std::thread& each : started) each.join();
  return std::min(running, wanted);
}

struct Workers {
  explicit Workers(int count)
      : limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(count)),
        arena(count) {}

  // oneTBB starts a thread when there is work for it. This is work for all of them, before others
  // take their place.
  void start() {
    const auto allowed =
        tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
    const int count = std::min(arena.max_concurrency(), static_cast<int>(allowed));
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    std::atomic<int> here = 0;
    const auto meet = [&](int) {
      ++here;
      while (here < count && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    };
    arena.execute([&] { tbb::parallel_for(0, count, meet, tbb::simple_partitioner()); });
  }

  tbb::global_control limit;
  tbb::task_arena arena;
};

std::unique_ptr<Workers> workers;

void run_on_threads(Index tiles, void (*run)(const void*, Index), const void* body) {
  // Not std::call_once: it would take thread-local variables of libstdc++ for a program's own,
  // and a process that has loaded libstdc++ late, as Python does, could not load tapegrad.
  [[maybe_unused]] static const bool started = [] {
    if (!workers) set_threads(thread_count);
    return true;
  }();
  workers->arena.execute([&] {
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
  static int running = 1;
  count = possible_threads(running, count);
  workers = std::make_unique<Workers>(count);
  if (count > running) workers->start();
  running = std::max(running, count);
#endif
  thread_count = count;
}

void detail::run_tiles(Index tiles, void (*run)(const void*, Index), const void* body) {
  Profile::Observer* observer = Profile::active() ? Profile::active()->observer() : nullptr;
  if (thread_count > 1 && !observer) return run_on_threads(tiles, run, body);
  if (observer) observer->section_began(tiles);
  for (Index tile = 0; tile < tiles; ++tile) {
    run(body, tile);
    if (observer) observer->task_ended();
  }
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
