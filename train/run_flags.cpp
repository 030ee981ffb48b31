#include "tapegrad/train/run_flags.h"

namespace tapegrad::TAPEGRAD_SCALAR {

std::optional<SaveInterval> parse_save_interval(std::string text) {
  SaveInterval interval;
  if (text.ends_with('m')) {
    text.pop_back();
    const std::optional<double> minutes = real_number(text);
    if (!minutes || !(*minutes > 0)) return {};
    interval.seconds = 60 * *minutes;
  } else {
    interval.steps = whole_number<Index>(text).value_or(0);
    if (interval.steps < 1) return {};
  }
  return interval;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
