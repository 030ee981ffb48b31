#pragma once

#include <cblas.h>

#include <mutex>

namespace tapegrad::openblas {

/// While any of these exists, in either precision, OpenBLAS computes with one thread. The last one
/// restores the number that the process had before. Visible, so that shared libraries of both
/// precisions count together.
class [[gnu::visibility("default")]] OneThread {
 public:
  OneThread() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (users_++ > 0) return;
    before_ = openblas_get_num_threads();
    openblas_set_num_threads(1);
  }
  ~OneThread() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--users_ == 0) openblas_set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  static inline std::mutex mutex_;
  static inline int users_ = 0, before_ = 1;
};

}  // namespace tapegrad::openblas
