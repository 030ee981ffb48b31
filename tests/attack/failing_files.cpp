// A library that is loaded before the system's own and makes a file operation fail: see
// failing_files.h.

#include "failing_files.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

enum class Act { nothing, fail, shorten, kill };

std::string call;  // which fails; none is called ""
int calls_left = 0;
Act act = Act::nothing;
int error = 0;

// The fault that the call which begins now is to have.
Act act_on(std::string_view name) {
  if (name != call || --calls_left != 0) return Act::nothing;
  if (act == Act::fail) errno = error;
  return act;
}

[[noreturn]] void end_process() {
  std::raise(SIGKILL);
  std::abort();
}

template <class Call>
Call* real(const char* name) {
  return reinterpret_cast<Call*>(::dlsym(RTLD_NEXT, name));
}

// A call that fails with -1.
template <class Result = int, class... Arguments>
Result run(const char* name, Arguments... arguments) {
  const Act now = act_on(name);
  if (now == Act::kill) end_process();
  return now == Act::fail ? -1 : real<Result(Arguments...)>(name)(arguments...);
}

[[maybe_unused]] const bool preloaded = [] {
  const char* fault = std::getenv("TAPEGRAD_FILE_FAULT");
  if (fault != nullptr) tapegrad::testing::set_file_fault(fault);
  return fault != nullptr;
}();

}  // namespace

namespace tapegrad::testing {

void set_file_fault(const std::string& fault) {
  const std::size_t first = fault.find(':'), second = fault.rfind(':');
  call.clear();
  if (first == std::string::npos) return;
  calls_left = std::atoi(fault.c_str() + first + 1);
  const std::string what = fault.substr(second + 1);
  act = what == "short" ? Act::shorten : what == "kill" ? Act::kill : Act::fail;
  error = std::atoi(what.c_str());
  call = fault.substr(0, first);
}

bool file_fault_struck() { return !call.empty() && calls_left <= 0; }

}  // namespace tapegrad::testing

extern "C" {

int stat(const char* path, struct stat* status) noexcept { return run("stat", path, status); }
int lstat(const char* path, struct stat* status) noexcept { return run("lstat", path, status); }
int fstat(int file, struct stat* status) noexcept { return run("fstat", file, status); }
int getentropy(void* bytes, std::size_t count) { return run("getentropy", bytes, count); }
int flock(int file, int operation) noexcept { return run("flock", file, operation); }
int fchown(int file, uid_t owner, gid_t group) noexcept {
  return run("fchown", file, owner, group);
}
int fchmod(int file, mode_t mode) noexcept { return run("fchmod", file, mode); }
int faccessat(int folder, const char* path, int mode, int flags) noexcept {
  return run("faccessat", folder, path, mode, flags);
}
ssize_t getxattr(const char* path, const char* name, void* value, std::size_t size) noexcept {
  return run<ssize_t>("getxattr", path, name, value, size);
}
int fsetxattr(int file, const char* name, const void* value, std::size_t size, int flags) noexcept {
  return run("fsetxattr", file, name, value, size, flags);
}
int fremovexattr(int file, const char* name) noexcept { return run("fremovexattr", file, name); }
int fsync(int file) { return run("fsync", file); }
int rename(const char* from, const char* to) noexcept { return run("rename", from, to); }
int unlink(const char* path) noexcept { return run("unlink", path); }
int close(int file) { return run("close", file); }

int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    std::va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  return run("open", path, flags, mode);
}

ssize_t write(int file, const void* bytes, std::size_t count) {
  static const auto write_bytes = real<ssize_t(int, const void*, std::size_t)>("write");
  const Act now = act_on("write");
  if (now == Act::fail) return -1;
  if (now == Act::nothing) return write_bytes(file, bytes, count);
  const ssize_t written = write_bytes(file, bytes, (count + 1) / 2);
  if (now == Act::kill) end_process();
  return written;
}

}  // extern "C"
