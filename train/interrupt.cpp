#include "tapegrad/train/interrupt.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

volatile std::sig_atomic_t signalled = 0;

void note(int) { signalled = 1; }

}  // namespace

Interrupt::Interrupt() {
  signalled = 0;
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  for (std::size_t i = 0; i < signals_.size(); ++i) {
    ::sigaction(signals_[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) ::sigaction(signals_[i], &action, nullptr);
  }
}

Interrupt::~Interrupt() {
  for (std::size_t i = 0; i < signals_.size(); ++i) ::sigaction(signals_[i], &before_[i], nullptr);
}

bool Interrupt::requested() const { return signalled != 0; }

}  // namespace tapegrad::TAPEGRAD_SCALAR
