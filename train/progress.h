#pragma once

#include <functional>
#include <string>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Shows the progress of a long run on standard error: a bar with rate, loss and time left, as wide
/// as the terminal allows. If standard error is not a terminal, or if TERM is unset or "dumb", a
/// line of text has the same, at most every ten seconds. Uses neither colours nor other escape
/// sequences. Writes nothing when quiet.
/// Example: `Progress progress(100, 0, false); progress.step(1, 0.7); progress.line("epoch 1")`
class Progress {
 public:
  /// In seconds, from any time.
  using Clock = std::function<double()>;

  /// A run of `total` steps, of which an earlier run did `done`.
  Progress(Index total, Index done, bool quiet, Clock clock = monotonic);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Call after each step. Redraws the bar at most ten times a second; without a bar, writes a line
  /// at most every ten seconds.
  void step(Index done, double loss);
  /// Writes a permanent line above the bar.
  void line(const std::string& text);
  /// Writes the line of a problem, even when quiet.
  void warning(const std::string& text);
  /// Since construction.
  double seconds() const;

 private:
  static double monotonic();
  void clear();

  Index total_, first_;
  bool quiet_, has_bar_;
  std::size_t drawn_ = 0;  // columns of the bar on the screen
  Clock clock_;
  double start_, shown_;  // when it began, and when it last showed how far it is
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
