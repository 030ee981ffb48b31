#include "lab/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tapegrad/core/error.h"
#include "tapegrad/nn/files/file.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

FileLock::FileLock(const std::filesystem::path& path) : path_(path) {
  make_directory(path.parent_path());
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  expect<DataError>(file_ >= 0, "{}: {}", path.string(), std::strerror(errno));
  struct stat status {};
  const bool locked = ::flock(file_, LOCK_EX | LOCK_NB) == 0;
  if (!locked && errno != EWOULDBLOCK) {
    const int reason = errno;
    ::close(file_);
    throw DataError(fmt::format("{}: it cannot be locked: {}; choose --runs on another file system",
                                path.string(), std::strerror(reason)));
  }
  // Whoever held it may have removed the file after it was opened here.
  held_ = locked && ::fstat(file_, &status) == 0 && status.st_nlink > 0;
}

FileLock::~FileLock() {
  if (held_) ::unlink(path_.c_str());
  ::close(file_);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
