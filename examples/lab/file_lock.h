#pragma once

#include <filesystem>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// A file that one process holds at a time. It exists while it is held, and is free again when the
/// process ends, however it ends.
class FileLock {
 public:
  /// Tries to take it. Its folder is made. Throws DataError if the file cannot be made or
  /// locked.
  explicit FileLock(const std::filesystem::path& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  bool is_held() const { return held_; }

 private:
  std::filesystem::path path_;
  int file_;
  bool held_ = false;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
