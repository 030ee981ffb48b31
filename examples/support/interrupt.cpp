#include "support/interrupt.h"

#include <csignal>

namespace tapegrad::support {
namespace {

volatile std::sig_atomic_t signalled = 0;

void note(int signal) {
  signalled = 1;
  std::signal(signal, SIG_DFL);
}

}  // namespace

Interrupt::Interrupt() {
  signalled = 0;
  std::signal(SIGINT, note);
  std::signal(SIGTERM, note);
}

Interrupt::~Interrupt() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool Interrupt::requested() const { return signalled != 0; }

}  // namespace tapegrad::support
