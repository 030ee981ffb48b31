#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "tapegrad/core/error.h"
#include "tapegrad/io/file.h"
#include "tapegrad/io/internal/descriptor.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// Throws unless the last system call succeeded.
void expect_done(bool done, const std::filesystem::path& path) {
  expect<DataError>(done, "write_file: cannot write {}: {}", path.string(), reason_of(errno));
}

// The target of a symlink or of a chain of them. It need not exist.
std::filesystem::path behind_links(const std::filesystem::path& path) {
  constexpr int most = 40;  // as in the kernel
  std::filesystem::path target = path;
  std::error_code error;
  for (int links = 0; links < most; ++links) {
    const std::filesystem::path next = std::filesystem::read_symlink(target, error);
    if (error == std::errc::invalid_argument || error == std::errc::no_such_file_or_directory)
      break;  // not a link
    errno = error.value();
    expect_done(!error, path);
    target = target.parent_path() / next;
  }
  return target;
}

// The path to write to, and the file at that path, if there is one.
struct Target {
  std::filesystem::path name;
  std::optional<struct stat> old;
};

// Throws DataError for what cannot be replaced.
Target target_of(const std::filesystem::path& path) {
  expect<DataError>(!path.empty(), "write_file: the file name is empty");
  struct stat old {};
  const bool replaces = ::stat(path.c_str(), &old) == 0;
  expect_done(replaces || errno == ENOENT, path);
  expect<DataError>(!replaces || S_ISREG(old.st_mode),
                    "write_file: cannot write {}: it is {}; name a regular file or a new one",
                    path.string(), kind_of(old.st_mode));
  // Permission for the folder would suffice to replace a file that the process may not write.
  expect_done(!replaces || ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0, path);
  return {behind_links(path), replaces ? std::optional(old) : std::nullopt};
}

constexpr const char* acl_attribute = "system.posix_acl_access";

// Whether the last call failed because the file has no such attribute.
bool without_attribute() { return errno == ENODATA || errno == ENOTSUP; }

// The access control list of a file in the kernel's form, empty if it has none; nothing if it
// cannot be read.
std::optional<std::string> acl_of(const std::filesystem::path& file) {
  constexpr std::size_t longest = 65536;  // as in the kernel
  std::string acl(longest, '\0');
  const ssize_t size = ::getxattr(file.c_str(), acl_attribute, acl.data(), acl.size());
  if (size < 0 && !without_attribute()) return {};
  acl.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return acl;
}

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : ".";
}

// A temporary file is called NAME.0123456789abcdef.tmp. Its digits are random, so that nobody can
// predict and occupy the next name.
constexpr std::size_t random_digits = 16;
constexpr std::string_view ending = ".tmp";

std::string temporary_prefix(const std::filesystem::path& target) {
  constexpr std::size_t longest_name = 255;
  const std::string name = target.filename().string();
  return name.substr(0, longest_name - 1 - random_digits - ending.size()) + ".";
}

bool is_temporary(std::string_view name, std::string_view prefix) {
  if (name.size() != prefix.size() + random_digits + ending.size()) return false;
  const std::string_view digits = name.substr(prefix.size(), random_digits);
  return name.starts_with(prefix) && name.ends_with(ending) &&
         digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// Removes the temporary files that killed writers of the target left. A live writer holds a lock on
// its file. Removes nothing where locks do not work. (std::filesystem's iterator would end the
// program if there is no memory for a name.)
void remove_stale(const std::filesystem::path& target) {
  const std::string prefix = temporary_prefix(target);
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir(folder_of(target).c_str()));
  while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
    if (!is_temporary(entry->d_name, prefix)) continue;
    const std::filesystem::path found = folder_of(target) / entry->d_name;
    const Descriptor file(::open(found.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (file.is_open() && ::fstat(file.number(), &status) == 0 && S_ISREG(status.st_mode) &&
        ::flock(file.number(), LOCK_SH | LOCK_NB) == 0)
      ::unlink(found.c_str());
  }
}

// A new file beside the target. The destructor removes it unless it was renamed to the target.
class Temporary {
 public:
  // Throws DataError, which names `path`.
  Temporary(const Target& target, const std::filesystem::path& path) {
    const mode_t mode = target.old ? S_IRUSR | S_IWUSR : 0666;
    constexpr int attempts = 100;
    for (int i = 0; i < attempts; ++i) {
      std::uint64_t digits = 0;
      expect_done(::getentropy(&digits, sizeof digits) == 0, path);
      name_ = folder_of(target.name) /
              fmt::format("{}{:016x}{}", temporary_prefix(target.name), digits, ending);
      file_ = Descriptor(
          ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
      if (!file_.is_open() && errno == EEXIST) continue;
      expect_done(file_.is_open(), path);
      if (lock()) return;
      ::unlink(name_.c_str());
    }
    errno = EBUSY;
    expect_done(false, path);
  }
  ~Temporary() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  // Gives the file the permissions, access control list, owner and group of the one it replaces, as
  // far as this process may. Never gives access to anyone who had none.
  void adopt(const Target& target) {
    const struct stat& old = *target.old;
    const bool keeps_group = ::fchown(file_.number(), old.st_uid, old.st_gid) == 0 ||
                             ::fchown(file_.number(), static_cast<uid_t>(-1), old.st_gid) == 0;
    const std::optional<std::string> acl = acl_of(target.name);
    mode_t mode = old.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
    if (!acl || !(keeps_group || acl->empty()) || !take_acl(*acl))
      mode &= S_IRWXU;
    else if (!keeps_group)
      mode = (mode & ~static_cast<mode_t>(S_IRWXG)) | (mode & S_IRWXO) << 3;
    ::fchmod(file_.number(), mode);
  }

  // This and the following functions return false, with errno set, on failure.
  bool write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_.number(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return false;
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return true;
  }

  // Waits until the data are on disk.
  bool flush() {
    while (::fsync(file_.number()) != 0)
      if (errno != EINTR) return false;
    return true;
  }

  bool take_name(const std::filesystem::path& target) {
    if (::rename(name_.c_str(), target.c_str()) != 0) return false;
    name_.clear();
    return true;
  }

 private:
  // An empty list removes what a new file inherits from its folder.
  bool take_acl(const std::string& acl) {
    if (acl.empty())
      return ::fremovexattr(file_.number(), acl_attribute) == 0 || without_attribute();
    return ::fsetxattr(file_.number(), acl_attribute, acl.data(), acl.size(), 0) == 0;
  }

  // False if another writer removed the file before it was locked.
  bool lock() {
    if (::flock(file_.number(), LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
    struct stat status {};
    return ::fstat(file_.number(), &status) == 0 && status.st_nlink > 0;
  }

  std::filesystem::path name_;
  Descriptor file_;  // holds the lock
};

// While in scope, writing beyond `ulimit -f` fails with EFBIG instead of ending the program by a
// signal.
class WithoutSizeSignal {
 public:
  WithoutSizeSignal() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~WithoutSizeSignal() {
    const timespec no_time{};
    while (sigtimedwait(&signal_, nullptr, &no_time) < 0 && errno == EINTR) continue;
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutSizeSignal(const WithoutSizeSignal&) = delete;
  WithoutSizeSignal& operator=(const WithoutSizeSignal&) = delete;

 private:
  sigset_t signal_{}, before_{};
};

}  // namespace

void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  write_file(path, std::span(&bytes, 1));
}

void write_file(const std::filesystem::path& path,
                std::span<const std::span<const std::byte>> parts) {
  const Target target = target_of(path);
  remove_stale(target.name);
  const WithoutSizeSignal quiet;
  Temporary file(target, path);
  if (target.old) file.adopt(target);
  for (const auto& part : parts) expect_done(file.write(part), path);
  expect_done(file.flush(), path);
  expect_done(file.take_name(target.name), path);

  // Makes the new name survive a power failure. The file is in place, so a failure here is no
  // error.
  const Descriptor folder(
      ::open(folder_of(target.name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.is_open()) ::fsync(folder.number());
}

void expect_writable(const std::filesystem::path& path) {
  const Target target = target_of(path);
  remove_stale(target.name);
  const WithoutSizeSignal quiet;
  Temporary file(target, path);
  constexpr std::byte some{};
  expect_done(file.write(std::span(&some, 1)) && file.flush(), path);
}

void make_directory(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  expect<DataError>(!error, "{}: cannot create this directory: {}", path.string(),
                    reason_of(error.value()));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
