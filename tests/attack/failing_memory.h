#pragma once

#include <cstdint>

namespace tapegrad::testing {

/// Which of the allocations that a program makes fail. Counted are those of `operator new` and of
/// the blocks of `Storage`.
struct Shortage {
  std::int64_t after = 0;      ///< so many allocations succeed before
  bool lasting = false;        ///< all that follow fail, too
  bool other_threads = false;  ///< only those of other threads count, otherwise only of this one
};

/// While in scope, memory is short. One at a time.
class ShortMemory {
 public:
  explicit ShortMemory(const Shortage& shortage);
  ~ShortMemory();
  ShortMemory(const ShortMemory&) = delete;
  ShortMemory& operator=(const ShortMemory&) = delete;

  /// Whether an allocation has failed.
  static bool struck();
};

/// How many objects of `operator new` there are.
std::int64_t objects();

}  // namespace tapegrad::testing
