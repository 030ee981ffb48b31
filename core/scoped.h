#pragma once

#include <utility>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Gives a variable another value while in scope, and restores the old one at the end. Thread-local
/// state is set this way.
/// Example: `int depth = 0; { const Scoped<int> deeper(depth, depth + 1); }`
template <class T>
class Scoped {
 public:
  Scoped(T& variable, T value)
      : variable_(variable), outer_(std::exchange(variable, std::move(value))) {}
  ~Scoped() { variable_ = std::move(outer_); }
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;

  /// The value outside of the scope.
  const T& outer() const { return outer_; }

 private:
  T& variable_;
  T outer_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
