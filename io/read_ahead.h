#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Values that a function makes one by one in the background, one ahead of their use.
///
/// One thread makes them all, so it can reuse its buffers. It is not a oneTBB task: a training step
/// waiting for its kernels might pick up such a task and then wait for all of it. And while kernels
/// keep all workers busy, the task would not start. Where the system starts no thread, values are
/// made when they are used.
/// Example: `ReadAhead<int> ones([] { return std::optional(1); }); ones.next()`
template <class T>
class ReadAhead {
 public:
  /// make: returns the next value, or nothing after the last; called by one thread
  explicit ReadAhead(std::function<std::optional<T>()> make) : make_(std::move(make)) {
    try {
      worker_ = std::thread([this] { make_all(); });
    } catch (const std::system_error&) {  // by a limit of processes or memory
    }
  }
  ReadAhead(const ReadAhead&) = delete;  // the thread works for this object
  ReadAhead& operator=(const ReadAhead&) = delete;
  ~ReadAhead() {
    if (!worker_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    worker_.join();
  }

  /// The next value, or nothing after the last. Rethrows what `make` threw.
  std::optional<T> next() {
    if (!worker_.joinable()) return make_();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ready_ || finished_; });
    std::optional<T> value = std::exchange(ready_, std::nullopt);
    changed_.notify_all();
    if (!value && failure_) std::rethrow_exception(failure_);
    return value;
  }

 private:
  void make_all() {
    try {
      while (std::optional<T> made = make_()) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return stopping_ || !ready_; });
        if (stopping_) return;
        ready_ = std::move(made);
        changed_.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    finished_ = true;
    changed_.notify_all();
  }

  std::function<std::optional<T>()> make_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::optional<T> ready_;
  std::exception_ptr failure_;
  bool finished_ = false;  // nothing is left to make
  bool stopping_ = false;  // nobody wants more
  std::thread worker_;     // last: it uses the members above
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
