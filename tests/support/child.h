#pragma once

#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>

namespace tapegrad::testing {

constexpr uid_t nobody = 65534;

/// Thrown when the system refuses what a test needs.
struct Skipped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void allowed(bool done, const char* what) {
  if (!done) throw Skipped(fmt::format("skipped: {}: {}", what, std::strerror(errno)));
}

/// Runs `body` in a child process. Returns the message of the exception that it ends with, or
/// "done"; after a signal, its number.
inline std::string in_child(const std::function<void()>& body) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::string message = "done";
    try {
      body();
    } catch (const std::exception& error) {
      message = error.what();
    }
    ::_exit(::write(ends[1], message.data(), message.size()) < 0 ? 1 : 0);
  }
  ::close(ends[1]);
  std::string message(4096, '\0');
  message.resize(static_cast<std::size_t>(
      std::max<ssize_t>(0, ::read(ends[0], message.data(), message.size()))));
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status)) : message;
}

/// Runs the body in a child that is a plain user.
inline std::string in_child_without_privileges(const std::function<void()>& body) {
  return in_child([&] {
    if (::geteuid() == 0) allowed(::setuid(nobody) == 0, "cannot become a plain user");
    body();
  });
}

/// Checks what in_child has returned, unless the test had to be skipped.
inline void check_outcome(const std::string& message, const std::string& expected) {
  if (message.starts_with("skipped"))
    WARN(message);
  else
    CHECK_THAT(message, Catch::Contains(expected));
}

}  // namespace tapegrad::testing
