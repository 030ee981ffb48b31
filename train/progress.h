#pragma once

#include <chrono>
#include <string>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Shows the progress of a long run on standard error: a bar with rate, loss and time left, as wide
/// as the terminal allows. Writes only lines of text if standard error is not a terminal, or if
/// TERM is unset or "dumb". Uses neither colours nor other escape sequences. Writes nothing when
/// quiet.
/// Example: `Progress progress(100, 0, false); progress.step(1, 0.7); progress.line("epoch 1")`
class Progress {
 public:
  /// A run of `total` steps, of which an earlier run did `done`.
  Progress(Index total, Index done, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Call after each step. Redraws the bar at most ten times a second.
  void step(Index done, double loss);
  /// Writes a permanent line above the bar.
  void line(const std::string& text);
  /// The same for a problem, even when quiet.
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
