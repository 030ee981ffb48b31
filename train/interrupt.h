#pragma once

#include <array>
#include <csignal>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// While in scope, SIGINT (Ctrl-C), SIGTERM and SIGHUP are noted instead of ending the program, so
/// that it can finish its step and save. A second one of them ends it at once. A signal that the
/// program was started to ignore, as by nohup, stays ignored.
class Interrupt {
 public:
  /// Unless it is quiet, the first signal tells on standard error what the second one would do.
  explicit Interrupt(bool quiet);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const;

 private:
  static constexpr std::array signals_{SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, signals_.size()> before_{};
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
