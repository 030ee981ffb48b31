#pragma once

#include <filesystem>
#include <utility>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A directory, or a file made for this purpose, that one process holds at a time. It is free again
/// when the process ends, however it ends. The file exists while it is held.
/// Example: `const FileLock mine("results.lock"); if (!mine.is_held()) fmt::print("taken\n")`
class FileLock {
 public:
  /// Tries to take it.
  explicit FileLock(const std::filesystem::path& path);
  /// Removes the file, unless it has a content, which nobody here has written.
  ~FileLock();
  FileLock(FileLock&& other) noexcept
      : path_(std::move(other.path_)),
        file_(std::exchange(other.file_, -1)),
        held_(std::exchange(other.held_, false)),
        error_(other.error_) {}

  bool is_held() const { return held_; }
  /// The error of the system where it can neither be held nor be another's, as on file systems
  /// without locks; otherwise 0.
  int error() const { return error_; }

 private:
  std::filesystem::path path_;
  int file_;
  bool held_ = false;
  int error_ = 0;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
