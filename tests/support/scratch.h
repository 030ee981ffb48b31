#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tapegrad::testing {

/// An empty folder for the files of a test, removed with this object.
struct Scratch {
  std::filesystem::path path;

  Scratch() {
    std::string name = std::filesystem::temp_directory_path() / "tapegrad_test_XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path = name;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { std::filesystem::remove_all(path); }
  std::filesystem::path operator/(const std::string& name) const { return path / name; }
};

}  // namespace tapegrad::testing
