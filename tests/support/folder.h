#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tapegrad::testing {

/// An empty folder that goes with the test.
struct Folder {
  std::filesystem::path path;

  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "tapegrad_test_XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::filesystem::path operator/(const char* name) const { return path / name; }
};

}  // namespace tapegrad::testing
