#pragma once

#include <array>
#include <csignal>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// While in scope, the first SIGINT (Ctrl-C), SIGTERM, SIGHUP or SIGUSR1 only sets a flag, so that
/// the program can finish its step and save. A second signal ends it at once. Signals that were
/// ignored at the program's start, as under nohup, stay ignored. mpirun forwards SIGUSR1, and Slurm
/// can send it before a job must end.
///
/// Example: `const Interrupt interrupt(true); if (interrupt.requested()) fmt::print("saving\n")`
class Interrupt {
 public:
  /// Unless quiet, the first signal prints on standard error what a second one would do.
  explicit Interrupt(bool quiet);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const;

 private:
  static constexpr std::array signals_{SIGINT, SIGTERM, SIGHUP, SIGUSR1};
  std::array<struct sigaction, signals_.size()> before_{};
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
