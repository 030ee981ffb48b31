#pragma once

#include <chrono>
#include <string>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// What a long run tells its user, on standard error: a bar with rate, loss and time left, as wide
/// as its terminal allows; lines of text only when that is none, or when TERM is missing or "dumb".
/// Writes neither colours nor other escape sequences. Says nothing when quiet.
class Progress {
 public:
  /// A run of `total` steps, of which `done` were done by an earlier one.
  Progress(Index total, Index done, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// After each step: redraws the bar, at most ten times a second.
  void step(Index done, double loss);
  /// A line that stays, above the bar.
  void line(const std::string& text);
  /// The same of what has gone wrong, also when quiet.
  void warning(const std::string& text);
  /// Since construction.
  double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;
  void clear();

  Index total_, first_;
  bool quiet_, has_bar_;
  std::size_t drawn_ = 0;  // columns of the bar on the screen
  Clock::time_point start_ = Clock::now(), last_draw_ = start_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
