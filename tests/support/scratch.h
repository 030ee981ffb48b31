#pragma once

#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tapegrad/core/real.h"

namespace tapegrad::testing {

/// A folder for the files of a test, which goes with it.
struct Scratch {
  std::filesystem::path path = std::filesystem::temp_directory_path() /
                               fmt::format("tapegrad_test_{}_{}", ::getpid(), sizeof(real));
  Scratch() { std::filesystem::create_directories(path); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { std::filesystem::remove_all(path); }
  std::filesystem::path operator/(const std::string& name) const { return path / name; }
};

}  // namespace tapegrad::testing
