#include "experiments/time_left.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::TAPEGRAD_SCALAR::lab {

void TimeLeft::expect(const std::string& kind, Index count, double guess) {
  kinds_[kind].left = count;
  kinds_[kind].guess = guess;
}

void TimeLeft::trained(const std::string& kind, double seconds) {
  Kind& of = kinds_[kind];
  of.left = std::max<Index>(0, of.left - 1);
  ++of.timed;
  of.seconds += seconds;
}

Index TimeLeft::runs() const {
  Index count = 0;
  for (const auto& [name, kind] : kinds_) count += kind.left;
  return count;
}

double TimeLeft::seconds() const {
  double taken = 0, guessed = 0;
  for (const auto& [name, kind] : kinds_) {
    taken += kind.seconds;
    guessed += kind.guess * kind.timed;
  }
  const double slower = guessed > 0 ? taken / guessed : 1;
  double all = 0;
  for (const auto& [name, kind] : kinds_)
    all += kind.left * (kind.timed > 0 ? kind.seconds / kind.timed : slower * kind.guess);
  return all;
}

std::string TimeLeft::to_string() const {
  const long whole = std::lround(seconds());
  return fmt::format("{} runs left, about {}:{:02}:{:02}", runs(), whole / 3600, whole / 60 % 60,
                     whole % 60);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
