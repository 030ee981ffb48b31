#include "tapegrad/train/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "tapegrad/train/flags.h"
#include "tapegrad/train/output.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

std::string clock_text(double seconds) {
  const long whole = std::lround(seconds);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

// Whether standard error is a terminal that can return to the beginning of a line.
bool redraws_lines() {
  const char* const name = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && name != nullptr && name != std::string_view("dumb");
}

// The current width of the terminal, or the width in the environment if the terminal reports
// none.
std::size_t terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  constexpr unsigned short usual = 80;
  const char* const columns = std::getenv("COLUMNS");
  return whole_number<unsigned short>(columns == nullptr ? "" : columns).value_or(usual);
}

// A bar of up to 24 cells followed by texts, in `room` columns. Drops optional texts, from the
// first, if not all fit.
std::string bar(double part, std::vector<std::string> texts, std::size_t room) {
  const std::string percent = fmt::format("{:3.0f}%", 100 * part);
  std::string line;
  const auto join = [&] {
    line = percent;
    for (const std::string& text : texts) line += "  " + text;
  };
  for (join(); line.size() > room && !texts.empty(); join()) texts.erase(texts.begin());

  constexpr std::size_t most_cells = 24, around = 3;  // brackets and a space
  if (line.size() + around >= room) return line.substr(0, room);
  const std::size_t cells = std::min(most_cells, room - line.size() - around);
  const auto full = static_cast<std::size_t>(part * static_cast<double>(cells));
  return fmt::format("[{:.<{}}] {}", std::string(full, '#'), cells, line);
}

}  // namespace

Progress::Progress(Index total, Index done, bool quiet, Clock clock)
    : total_(total),
      first_(done),
      quiet_(quiet),
      has_bar_(!quiet && redraws_lines()),
      clock_(std::move(clock)),
      start_(clock_()),
      shown_(start_) {}

Progress::~Progress() { clear(); }

void Progress::step(Index done, double loss) {
  const double now = clock_(), interval = has_bar_ ? 0.1 : 10;
  if (quiet_ || now - shown_ < interval) return;
  shown_ = now;
  const double part = static_cast<double>(done) / static_cast<double>(total_),
               rate = static_cast<double>(done - first_) / (now - start_);
  const std::vector<std::string> texts{
      fmt::format("{:.1f} steps/s", rate), fmt::format("loss {:.4f}", loss),
      fmt::format("{} left", clock_text(static_cast<double>(total_ - done) / rate))};
  if (!has_bar_) {
    write_diagnostic(fmt::format("{:.0f}%: {}\n", 100 * part, fmt::join(texts, ", ")));
    return;
  }
  // Leaves the last column free, since a terminal may wrap after filling it.
  const std::size_t columns = std::max<std::size_t>(1, terminal_width()) - 1;
  const std::string drawn = bar(part, texts, columns);
  // Spaces overwrite the rest of a longer line.
  write_on_line(fmt::format("\r{:<{}}", drawn, std::min(drawn_, columns)));
  drawn_ = drawn.size();
}

void Progress::line(const std::string& text) {
  if (!quiet_) warning(text);
}

void Progress::warning(const std::string& text) {
  clear();
  write_diagnostic(fmt::format("{}\n", text));
  if (!has_bar_) shown_ = clock_();
}

double Progress::seconds() const { return clock_() - start_; }

double Progress::monotonic() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Progress::clear() {
  if (drawn_ > 0) write_on_line(fmt::format("\r{:{}}\r", "", std::min(drawn_, terminal_width())));
  drawn_ = 0;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
