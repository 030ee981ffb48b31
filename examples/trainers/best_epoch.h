#pragma once

#include <array>
#include <optional>

#include "tapegrad/train/json.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// Results on the test set, each a share, of the epoch that was best on the validation set.
template <std::size_t count>
struct BestEpoch {
  static constexpr double none = -1;
  double validation = none;
  std::array<double, count> test{};

  /// A note for checkpoints, and what it says; nothing for other notes.
  std::string to_string() const {
    Json note = Json::array({validation});
    for (const double result : test) note.push_back(result);
    return note.dump();
  }
  static std::optional<BestEpoch> parse(const Json& note) {
    const auto is_share = [](const Json& value) {
      return value.is_number() && value >= 0 && value <= 1;
    };
    if (!note.is_array() || note.size() != count + 1) return {};
    if (!is_share(note[0]) && note[0] != none) return {};
    BestEpoch best{.validation = note[0].get<double>()};
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_share(note[i + 1])) return {};
      best.test[i] = note[i + 1].get<double>();
    }
    return best;
  }
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
