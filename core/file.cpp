#include "tapegrad/core/file.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "tapegrad/core/error.h"

namespace tapegrad {
namespace {

constexpr std::size_t chunk = std::size_t{1} << 20;

struct CloseGzip {
  void operator()(gzFile file) const { gzclose(file); }
};

// Writes everything and waits for the disk; false with errno set on failure.
bool write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return ::fsync(file) == 0;
}

}  // namespace

std::vector<std::byte> read_file(const std::filesystem::path& path, std::size_t limit) {
  errno = 0;
  const std::unique_ptr<gzFile_s, CloseGzip> file(gzopen(path.c_str(), "rb"));
  expect<DataError>(file != nullptr && !std::filesystem::is_directory(path),
                    "read_file: cannot open {}: {}", path.string(),
                    std::strerror(errno == 0 ? EISDIR : errno));
  std::vector<std::byte> bytes;
  while (true) {
    const std::size_t have = bytes.size();
    bytes.resize(have + chunk);
    const int count = gzread(file.get(), bytes.data() + have, chunk);
    int code = Z_OK;
    const char* message = gzerror(file.get(), &code);
    expect<DataError>(count >= 0 && (code == Z_OK || code == Z_STREAM_END),
                      "read_file: {} is damaged after {} unpacked bytes: {}", path.string(), have,
                      message);
    bytes.resize(have + static_cast<std::size_t>(count));
    expect<DataError>(bytes.size() <= limit, "read_file: {} has more than {} bytes", path.string(),
                      limit);
    if (static_cast<std::size_t>(count) < chunk) break;
  }
  return bytes;
}

std::string read_text(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path, std::size_t{1} << 30);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  const std::string temporary = fmt::format("{}.{}.tmp", path.string(), ::getpid());
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  expect<DataError>(file >= 0, "write_file: cannot create {}: {}", temporary, std::strerror(errno));
  bool written = write_all(file, bytes);
  int failure = errno;
  if (::close(file) != 0 && written) {
    written = false;
    failure = errno;
  }
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0) {
    written = false;
    failure = errno;
  }
  if (!written) ::unlink(temporary.c_str());
  expect<DataError>(written, "write_file: cannot write {}: {}", path.string(),
                    std::strerror(failure));
}

}  // namespace tapegrad
