#include "tapegrad/train/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

bool results_written = true, silent = false;

}  // namespace

void prepare_output() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0)  // open() returns the lowest free number, which is this one
      static_cast<void>(::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void write_diagnostic(std::string_view text) noexcept {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void silence_results() { silent = true; }

void write_result(std::string_view text) {
  if (silent) return;
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written || !results_written) return;
  const int failure = errno;
  results_written = false;
  write_diagnostic(
      fmt::format("standard output: cannot write: {}; continuing, but will exit with code 1\n",
                  std::strerror(failure)));
}

bool results_are_written() { return results_written; }

}  // namespace tapegrad::TAPEGRAD_SCALAR
