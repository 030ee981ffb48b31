#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (is_open()) ::close(number_);
  }

  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }

 private:
  int number_;
};

/// Why the system refuses a file, and what to do, for a message.
inline std::string reason_of(int error) {
  const std::string reason = std::strerror(error);
  switch (error) {
    case ENOENT:
      return reason + "; check the name";
    case EACCES:
      return reason + "; let this user into its folder and to the file, or name another";
    case ELOOP:
      return reason + "; name the file that they should lead to";
    case ENAMETOOLONG:
      return reason + "; name a shorter path";
  }
  return reason;
}

/// The kind of a file that is not regular, for a message.
inline const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
