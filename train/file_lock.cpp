#include "tapegrad/train/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace tapegrad::TAPEGRAD_SCALAR {

FileLock::FileLock(const std::filesystem::path& path) : path_(path) {
  std::error_code failure;
  const int how =
      std::filesystem::is_directory(path, failure) ? O_RDONLY : O_RDWR | O_CREAT | O_NOFOLLOW;
  file_ = ::open(path.c_str(), how | O_CLOEXEC, 0666);
  const bool locked = file_ >= 0 && ::flock(file_, LOCK_EX | LOCK_NB) == 0;
  if (!locked && errno != EWOULDBLOCK) error_ = errno;
  // Whoever held it may have removed the file after it was opened here.
  struct stat status {};
  held_ = locked && ::fstat(file_, &status) == 0 && status.st_nlink > 0;
}

FileLock::~FileLock() {
  struct stat status {};
  if (held_ && ::fstat(file_, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0)
    ::unlink(path_.c_str());
  if (file_ >= 0) ::close(file_);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
