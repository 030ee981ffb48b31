#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "tapegrad/core/error.h"
#include "tapegrad/io/file.h"
#include "tapegrad/io/internal/descriptor.h"
#include "tapegrad/io/internal/honest_size.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

constexpr std::size_t chunk = std::size_t{1} << 16;  // what a pipe holds
// A limit for pipes, whose length is unknown until they end.
constexpr std::size_t longest_pipe = std::size_t{4} << 30;

constexpr const char* no_memory = "read_file: cannot read {}: no memory for {} bytes; divide it";

// A block that grows without being copied: realloc moves the pages of a large one.
class GrowingBlock {
 public:
  // path: of the file that it is for, for messages
  explicit GrowingBlock(const std::filesystem::path& path) : path_(path) {}
  GrowingBlock(const GrowingBlock&) = delete;
  GrowingBlock& operator=(const GrowingBlock&) = delete;
  ~GrowingBlock() { std::free(data_); }

  std::size_t size() const { return size_; }
  // Where the next bytes go: room for one chunk.
  std::byte* next() {
    if (capacity_ - size_ < chunk) reallocate(size_ + size_ / 2 + chunk);
    return data_ + size_;
  }
  void add(std::size_t count) { size_ += count; }
  // stored: the size of the file.
  FileBytes finish(std::size_t stored) {
    reallocate(std::max<std::size_t>(size_, 1));
    return {{std::exchange(data_, nullptr), [](std::byte* data) { std::free(data); }},
            size_,
            false,
            stored};
  }

 private:
  void reallocate(std::size_t capacity) {
    void* moved = std::realloc(data_, capacity);
    expect<MemoryError>(moved != nullptr, no_memory, path_.string(), capacity);
    data_ = static_cast<std::byte*>(moved);
    capacity_ = capacity;
  }

  const std::filesystem::path& path_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

void expect_within(std::size_t limit, std::uintmax_t size, const std::filesystem::path& path) {
  expect<DataError>(size <= limit, "read_file: {} has more than {} bytes; divide it", path.string(),
                    limit);
}

// Whether it is an anonymous pipe, as made by `<(command)` and `command |`.
bool is_pipe_of_shell(const std::filesystem::path& path, mode_t mode) {
  struct statfs system {};
  return S_ISFIFO(mode) && ::statfs(path.c_str(), &system) == 0 && system.f_type == PIPEFS_MAGIC;
}

// Nothing if the file is empty or cannot be mapped.
std::optional<FileBytes> mapped(const Descriptor& file, std::size_t size,
                                const std::filesystem::path& path) {
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (data == MAP_FAILED) {
    expect<MemoryError>(errno != ENOMEM, no_memory, path.string(), size);
    return std::nullopt;
  }
  const auto unmap = [size](std::byte* begin) { ::munmap(begin, size); };
  return FileBytes({static_cast<std::byte*>(data), unmap}, size, true, size);
}

FileBytes read_to_end(const Descriptor& file, const std::filesystem::path& path,
                      std::size_t limit) {
  GrowingBlock block(path);
  while (true) {
    const ssize_t count = ::read(file.number(), block.next(), chunk);
    if (count < 0 && errno == EINTR) continue;
    expect<DataError>(count >= 0, "read_file: cannot read {}: {}", path.string(), reason_of(errno));
    if (count == 0) return block.finish(block.size());
    block.add(static_cast<std::size_t>(count));
    expect_within(limit, block.size(), path);
  }
}

// The bytes as stored, still packed.
FileBytes read_packed(const std::filesystem::path& path, std::size_t limit) {
  const auto expect_done = [&](bool done) {
    expect<DataError>(done, "read_file: cannot open {}: {}", path.string(), reason_of(errno));
  };
  struct stat status {};
  expect_done(::stat(path.c_str(), &status) == 0);
  expect<DataError>(S_ISREG(status.st_mode) || is_pipe_of_shell(path, status.st_mode),
                    "read_file: cannot read {}: it is {}; name a regular file", path.string(),
                    kind_of(status.st_mode));
  // Opening never blocks, whatever the name refers to by now.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  expect_done(file.is_open() && ::fstat(file.number(), &status) == 0 &&
              ::fcntl(file.number(), F_SETFL, 0) == 0);
  if (!S_ISREG(status.st_mode)) return read_to_end(file, path, std::min(limit, longest_pipe));
  const auto size = static_cast<std::uintmax_t>(status.st_size);
  expect_within(limit, size, path);
  // Files in /proc also claim to be empty.
  if (const auto whole = mapped(file, static_cast<std::size_t>(size), path)) return *whole;
  return read_to_end(file, path, std::min(limit, longest_pipe));
}

bool begins_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

void expect_honest(std::size_t packed, std::size_t unpacked, const std::filesystem::path& path) {
  const std::size_t honest = honest_size(packed);
  expect<DataError>(
      unpacked <= honest,
      "read_file: {} may be a decompression bomb: its {} bytes unpack to more than {}, {} times "
      "as many; if you trust it, unpack it with gunzip",
      path.string(), packed, honest, honest / packed);
}

// Unpacks a gzip file, which may consist of several concatenated ones.
FileBytes unpacked(std::span<const std::byte> packed, const std::filesystem::path& path,
                   std::size_t limit) {
  constexpr int gzip_only = 16;
  z_stream stream{};
  expect<MemoryError>(inflateInit2(&stream, gzip_only + MAX_WBITS) == Z_OK,
                      "read_file: out of memory while unpacking {}", path.string());
  const std::unique_ptr<z_stream, int (*)(z_stream*)> owner(&stream, inflateEnd);
  GrowingBlock block(path);
  std::size_t taken = 0;
  for (int code = Z_OK; code != Z_STREAM_END || taken < packed.size();) {
    if (code == Z_STREAM_END) {
      const auto rest = packed.subspan(taken);
      if (std::ranges::all_of(rest, [](std::byte b) { return b == std::byte{0}; }))
        break;  // blocks of a tape may be filled up with zeros; gzip ignores them, too
      expect<DataError>(begins_gzip(rest),
                        "read_file: {} is damaged: {} bytes follow the gzip data, at byte {}",
                        path.string(), rest.size(), taken);
      inflateReset(&stream);
    }
    const auto left = static_cast<uInt>(std::min(packed.size() - taken, chunk));
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + taken));
    stream.avail_in = left;
    stream.next_out = reinterpret_cast<Bytef*>(block.next());
    stream.avail_out = chunk;
    code = inflate(&stream, Z_NO_FLUSH);
    taken += left - stream.avail_in;
    block.add(chunk - stream.avail_out);
    expect<DataError>(code != Z_BUF_ERROR, "read_file: {} is damaged: it is cut off at byte {}",
                      path.string(), packed.size());
    expect<MemoryError>(code != Z_MEM_ERROR, "read_file: out of memory while unpacking {}",
                        path.string());
    expect<DataError>(code == Z_OK || code == Z_STREAM_END,
                      "read_file: {} is damaged at byte {}: {}", path.string(), taken,
                      stream.msg == nullptr ? "not gzip data" : stream.msg);
    expect_within(limit, block.size(), path);
    expect_honest(packed.size(), block.size(), path);
  }
  return block.finish(packed.size());
}

}  // namespace

void FileBytes::release(std::span<const std::byte> part) const {
  if (!mapped_) return;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = static_cast<std::size_t>(part.data() - data_.get());
  const std::size_t first = begin / page * page, last = (begin + part.size()) / page * page;
  ::madvise(const_cast<std::byte*>(data_.get()) + first, last - first, MADV_DONTNEED);
}

FileBytes read_file(const std::filesystem::path& path, std::size_t limit) {
  FileBytes packed = read_packed(path, limit);
  if (begins_gzip(packed.bytes())) return unpacked(packed.bytes(), path, limit);
  expect<DataError>(path.extension() != ".gz",
                    "read_file: {} is damaged: it does not begin with a gzip header",
                    path.string());
  return packed;
}

bool is_there(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) || error;
}

std::vector<std::filesystem::path> entries_of(const std::filesystem::path& directory) {
  using std::filesystem::file_type;
  std::vector<std::filesystem::path> entries;
  std::error_code error;
  const file_type type = std::filesystem::status(directory, error).type();
  if (type != file_type::directory && type != file_type::none) return entries;  // none: not known
  error.clear();
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error))
    entries.push_back(entry->path());
  expect<DataError>(!error, "{}: cannot read this directory: {}", directory.string(),
                    reason_of(error.value()));
  std::sort(entries.begin(), entries.end());
  return entries;
}

std::string read_text(const std::filesystem::path& path) {
  const FileBytes file = read_file(path, std::size_t{1} << 30);
  Allowance(file, path.string()).take((built_per_byte - 1) * file.text().size());
  return std::string(file.text());
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
