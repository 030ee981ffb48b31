#pragma once

#include <cstdint>

namespace tapegrad::testing {

/// Which of a program's allocations fail. Allocations by `operator new` and of blocks of `Storage`
/// count.
struct Shortage {
  std::int64_t after = 0;      ///< the number of allocations that succeed first
  bool lasting = false;        ///< all later ones fail, too
  bool other_threads = false;  ///< they fail in other threads alone, not in this one
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

/// The number of live objects that `operator new` made.
std::int64_t objects();

}  // namespace tapegrad::testing
