#include "tapegrad/train/interrupt.h"

#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

volatile std::sig_atomic_t signalled = 0;
volatile std::sig_atomic_t tells = 0;

// Calls only async-signal-safe functions.
void note(int signal) {
  const int before = errno;
  if (signalled != 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);  // delivered when this returns
  } else if (tells != 0) {
    constexpr std::string_view text =
        "\nstopping after this step; interrupt again to stop at once\n";
    // Ignores failure.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  }
  signalled = 1;
  errno = before;
}

}  // namespace

Interrupt::Interrupt(bool quiet) {
  signalled = 0;
  tells = quiet ? 0 : 1;
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
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
