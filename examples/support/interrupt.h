#pragma once

namespace tapegrad::support {

/// While in scope, SIGINT (Ctrl-C) and SIGTERM are noted instead of ending the program, so that it
/// can finish its step and save. A second signal ends it at once.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const;
};

}  // namespace tapegrad::support
