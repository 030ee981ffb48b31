#include "tapegrad/train/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>

#include "tapegrad/core/printable.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

bool results_written = true, silent = false;

// Whether all has been written. A terminal obeys none of the text.
bool write(std::string_view text, std::FILE* stream) {
  if (::isatty(::fileno(stream)) == 0)
    return std::fwrite(text.data(), 1, text.size(), stream) == text.size();
  const std::string shown = printable_lines(text);
  return std::fwrite(shown.data(), 1, shown.size(), stream) == shown.size();
}

bool written(std::string_view text) { return write(text, stdout) && std::fflush(stdout) == 0; }

// Reports the first failure.
void results_fail(int error) {
  if (!results_written) return;
  results_written = false;
  write_diagnostic(
      fmt::format("standard output: cannot write: {}; continuing, but will exit with code 1\n",
                  std::strerror(error)));
}

}  // namespace

void prepare_output() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0)  // open() returns the lowest free number, which is this one
      static_cast<void>(::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void write_diagnostic(std::string_view text) noexcept {
  try {
    write(text, stderr);
  } catch (const std::bad_alloc&) {
    write_on_line("out of memory\n");
  }
}

void write_on_line(std::string_view text) noexcept {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void silence_results() { silent = true; }

void write_result(std::string_view text) {
  if (!silent && !written(text)) results_fail(errno);
}

void write_help(std::string_view text) {
  if (!written(text) && errno != EPIPE) results_fail(errno);
}

bool results_are_written() { return results_written; }

}  // namespace tapegrad::TAPEGRAD_SCALAR
