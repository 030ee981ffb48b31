#include "support/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "support/output.h"

namespace tapegrad::support {
namespace {

std::string clock_text(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

Progress::Progress(Index total, Index done, bool quiet)
    : total_(total), first_(done), quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() { clear(); }

void Progress::step(Index done, double loss) {
  const auto now = Clock::now();
  if (quiet_ || !terminal_ || now - last_draw_ < std::chrono::milliseconds(100)) return;
  last_draw_ = now;
  drawn_ = true;
  constexpr int cells = 24;
  const double part = static_cast<double>(done) / static_cast<double>(total_);
  const double rate = static_cast<double>(done - first_) / seconds();
  write_diagnostic(fmt::format("\r[{:.<{}}] {:3.0f}%  {:.1f} steps/s  loss {:.4f}  {} left\x1b[K",
                               std::string(static_cast<std::size_t>(part * cells), '#'), cells,
                               100 * part, rate, loss,
                               clock_text(static_cast<double>(total_ - done) / rate)));
}

void Progress::line(const std::string& text) {
  if (!quiet_) warning(text);
}

void Progress::warning(const std::string& text) {
  clear();
  write_diagnostic(fmt::format("{}\n", text));
}

double Progress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

void Progress::clear() {
  if (drawn_) write_diagnostic("\r\x1b[K");
  drawn_ = false;
}

}  // namespace tapegrad::support
