#pragma once

#include <map>
#include <string>

#include "tapegrad/train/spread.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// Estimates how long runs of several kinds will take, from those that have been timed.
///
///     TimeLeft left;
///     left.expect("rt", 12, 60);
///     left.trained("rt", 48.5);
///     left.to_string();  // "11 runs left, about 0:08:54"
class TimeLeft {
 public:
  /// So many runs of a kind are left. This replaces what was expected of it.
  ///   guess: seconds of one, until one has been timed
  void expect(const std::string& kind, Index count, double guess);
  /// One of them is done.
  void trained(const std::string& kind, double seconds);

  Index runs() const;
  /// Kinds that have not been timed take their guess, times how much longer the others took than
  /// theirs.
  double seconds() const;
  std::string to_string() const;

 private:
  struct Kind {
    Index left = 0;
    double guess = 0;
    Index timed = 0;
    double seconds = 0;  // of those timed
  };
  std::map<std::string, Kind> kinds_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
