#pragma once

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <zlib.h>
#include <catch2/catch.hpp>
#include <cstddef>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tapegrad/io/file.h"

namespace tapegrad::testing {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

using Bytes = std::vector<std::byte>;

inline Bytes bytes_of(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

/// What `read_file` finds.
inline Bytes bytes_in(const std::filesystem::path& path) {
  const FileBytes file = read_file(path);
  return {file.bytes().begin(), file.bytes().end()};
}

/// Writes a file without waiting for the disk, for tests that write thousands.
inline void write_quickly(const std::filesystem::path& path, const Bytes& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

inline Bytes operator+(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

inline Bytes first(const Bytes& bytes, std::size_t count) {
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count)};
}

inline Bytes gzipped(const Bytes& bytes) {
  constexpr int gzip_only = 16;
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_only + MAX_WBITS, 8,
                       Z_DEFAULT_STRATEGY) == Z_OK);
  Bytes packed(deflateBound(&stream, bytes.size()));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// A gzipped file of so many bytes and more that repeats `part`. It is much smaller.
inline void write_repeated(const std::filesystem::path& path, const std::string& part,
                           std::size_t bytes) {
  std::string text;
  while (text.size() < mebibyte) text += part;
  const auto all = std::as_bytes(std::span(text));
  const Bytes packed = gzipped({all.begin(), all.end()});
  Bytes file;
  for (std::size_t size = 0; size < bytes; size += text.size()) file = std::move(file) + packed;
  write_quickly(path, file);
}

/// The message of readers for a gzipped file from which they would build too much.
inline auto too_much_of(const std::filesystem::path& path) {
  return Catch::Matches(path.string() +
                        ": its [0-9]+ bytes would take more than 268435456 bytes of memory; if "
                        "you trust it, unpack it with gunzip");
}

/// A directory `folder`, a FIFO `fifo`, a socket `socket` and a symbolic `link` to the FIFO.
inline void make_irregular_files(const std::filesystem::path& path) {
  std::filesystem::create_directory(path / "folder");
  REQUIRE(::mkfifo((path / "fifo").c_str(), 0600) == 0);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (path / "socket").string().copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  ::close(socket);
  std::filesystem::create_symlink("fifo", path / "link");
}

/// The most memory that the process has held at once since this object was made, beyond what it
/// held then. None where it is not counted, and under sanitizers, which need memory of their
/// own.
class PeakMemory {
 public:
  PeakMemory() {
    std::ofstream("/proc/self/clear_refs") << 5;  // the peak begins anew
    before_ = kibibytes("VmHWM:");
  }
  std::optional<std::size_t> bytes() const {
#ifndef TAPEGRAD_SANITIZED
    const std::optional<std::size_t> now = kibibytes("VmHWM:");
    if (before_ && now) return (*now - *before_) * 1024;
#endif
    WARN("skipped: the peak of memory is not known");
    return std::nullopt;
  }

 private:
  static std::optional<std::size_t> kibibytes(const std::string& key) {
    std::ifstream status("/proc/self/status");
    std::size_t count = 0;
    for (std::string word; status >> word;)
      if (word == key && status >> count) return count;
    return std::nullopt;
  }

  std::optional<std::size_t> before_;
};

}  // namespace tapegrad::testing
