#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// What is in a file, while this object or a copy of it lives: the file itself, mapped into memory,
/// or a block of memory with what was unpacked from it. A mapped file may be replaced as
/// `write_file` does it; a program that shortens it meanwhile ends this one.
class FileBytes {
 public:
  /// `mapped` says whether the data are a mapping.
  FileBytes(std::shared_ptr<const std::byte> data, std::size_t size, bool mapped)
      : data_(std::move(data)), size_(size), mapped_(mapped) {}

  std::span<const std::byte> bytes() const { return {data_.get(), size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_.get()), size_}; }
  /// Gives the memory of a part of a mapped file back; the file still has it.
  void release(std::span<const std::byte> part) const;

 private:
  std::shared_ptr<const std::byte> data_;
  std::size_t size_;
  bool mapped_;
};

/// Reads a file, unpacked if it is gzipped (told by its first two bytes). Throws DataError for what
/// is missing, damaged, longer than `limit` bytes or neither a regular file nor a pipe of the
/// shell; for a name that ends in .gz without a gzipped file behind it; and for a gzipped file that
/// unpacks to more than 256 MiB and more than 100 times its size.
FileBytes read_file(const std::filesystem::path& path,
                    std::size_t limit = std::numeric_limits<std::size_t>::max());

/// The same as text, of at most 1 GiB.
std::string read_text(const std::filesystem::path& path);

/// Writes a file whole or not at all: to a temporary file beside it, which then takes its name.
/// Symlinks are followed, and temporary files of writers that were killed are removed. A file that
/// is replaced hands on its permissions and its access control list, where the process may also its
/// owner and group; where it may not, nobody gains access. Other hard links keep the old content.
/// Throws DataError when that fails, also for a file that the process may not write and for what is
/// no regular file, such as a device; what was there before is kept.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);
/// The same for a file of several parts, which need not lie side by side in memory.
void write_file(const std::filesystem::path& path,
                std::span<const std::span<const std::byte>> parts);
/// Throws the DataError that write_file would end with, as far as it can be known before: writes a
/// temporary file beside it, and removes it again. What is there stays as it is.
void expect_writable(const std::filesystem::path& path);

}  // namespace tapegrad::TAPEGRAD_SCALAR
