#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trainers/char_flags.h"

namespace tapegrad::attack {

/// Flags of all kinds that trainers have.
struct AttackedFlags : support::CharFlags {
  std::vector<Index> hidden{3};

  AttackedFlags() : CharFlags("trainer", "Learns to write.") {
    training("--hidden", hidden, "Sizes of layers").check(between(1, 1 << 20));
    add_shared();
  }

  /// Runs a program with these flags on the words of a command line; returns its exit code.
  int run(std::vector<std::string> words, const std::function<void()>& body) {
    words.insert(words.begin(), "trainer");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    return Flags::run(static_cast<int>(words.size()), arguments.data(), [&] {
      body();
      return 0;
    });
  }
};

}  // namespace tapegrad::attack
