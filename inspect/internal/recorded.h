#pragma once

// The nodes of a tape, as exports describe them.

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The source lines that a tape refers to; none for a file that cannot be read.
class Sources {
 public:
  std::string line(const Place& place) {
    const auto [entry, is_new] = files_.try_emplace(place.file);
    if (is_new) {
      std::ifstream file(place.file);
      for (std::string text; std::getline(file, text);) entry->second.push_back(text);
    }
    const auto index = static_cast<std::size_t>(place.line) - 1;
    if (place.line < 1 || index >= entry->second.size()) return "";
    const std::string& text = entry->second[index];
    return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
  }

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

/// For each node, the sweep that recorded it, or 0. A sweep recorded what came between two of its
/// additions.
inline std::vector<int> recording_sweeps(const Tape& tape) {
  std::vector<int> sweeps(static_cast<std::size_t>(tape.size()));
  const Flow* before = nullptr;
  for (const Flow& flow : tape.flows()) {
    if (before != nullptr && before->sweep == flow.sweep)
      std::fill(sweeps.begin() + before->size, sweeps.begin() + flow.size, flow.sweep);
    before = &flow;
  }
  return sweeps;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
