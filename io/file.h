#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The content of a file: the file itself, mapped into memory, or a block of memory with its
/// unpacked content. It stays valid while this object or a copy of it lives. A mapped file may be
/// replaced the way `write_file` does; truncating it meanwhile crashes this program.
/// Example: `const FileBytes file = read_file("input.txt")`
class FileBytes {
 public:
  /// `mapped`: whether `data` is a mapping. `stored`: the size of the file itself.
  FileBytes(std::shared_ptr<const std::byte> data, std::size_t size, bool mapped,
            std::size_t stored)
      : data_(std::move(data)), size_(size), stored_(stored), mapped_(mapped) {}

  std::span<const std::byte> bytes() const { return {data_.get(), size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_.get()), size_}; }
  /// How many bytes the file has itself: fewer than there are here if it is packed.
  std::size_t stored_size() const { return stored_; }
  /// Gives the memory of part of a mapped file back to the system; reading it again loads it from
  /// the file.
  void release(std::span<const std::byte> part) const;

 private:
  std::shared_ptr<const std::byte> data_;
  std::size_t size_, stored_;
  bool mapped_;
};

/// Reads a file, and unpacks it if its first two bytes are gzip's. Throws DataError for a file that
/// is missing, damaged, longer than `limit` bytes or neither a regular file nor a pipe of the
/// shell; for a name that ends in .gz if the file is not gzipped; and for a gzipped file that
/// unpacks to more than 256 MiB and more than 100 times its size.
/// Example: `read_file("input.txt").bytes().size()`
FileBytes read_file(const std::filesystem::path& path,
                    std::size_t limit = std::numeric_limits<std::size_t>::max());

/// Reads a text of at most 1 GiB. Throws DataError for a gzipped file whose text has more than
/// 16 MiB and more than 6.25 times its size: what is built from a text, such as the numbers of its
/// characters, is counted as 16 bytes for each of its own.
/// Example: `const std::string text = read_text("input.txt")`
std::string read_text(const std::filesystem::path& path);

/// Whether a file or directory has this name; also true if that is unknown, as in a folder
/// that the process may not enter; reading the file then reports why.
/// Example: `const std::string notes = is_there("notes.txt") ? read_text("notes.txt") : ""`
bool is_there(const std::filesystem::path& path);

/// The paths in a directory, in order; none if there is no such directory, or a file in its place.
/// Throws DataError if it cannot be read.
/// Example: `for (const auto& path : entries_of("results")) fmt::print("{}\n", path.string())`
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& directory);

/// Writes a file atomically: to a temporary file beside it, which is then renamed. Follows
/// symlinks, and removes temporary files left by killed writers. The new file keeps the permissions
/// and the access control list of the one it replaces, and its owner and group if the process may
/// set them; if it may not, nobody gains access. Other hard links keep the old content. Throws
/// DataError on failure, for a file that the process may not write, and for anything but a regular
/// file, such as a device; the old file is then kept.
/// Example: `write_file("copy.txt", read_file("input.txt").bytes())`
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);
/// Writes a file from several parts, which need not be contiguous in memory.
void write_file(const std::filesystem::path& path,
                std::span<const std::span<const std::byte>> parts);
/// Throws the DataError that `write_file` would throw, as far as that is known in advance: writes a
/// temporary file beside it, and removes it and what killed writers left. Leaves the file alone.
/// Example: `expect_writable("net.checkpoint")`
void expect_writable(const std::filesystem::path& path);

/// Creates a directory, with its parents, unless it exists. Throws DataError on failure.
/// Example: `make_directory("results/first")`
void make_directory(const std::filesystem::path& path);

}  // namespace tapegrad::TAPEGRAD_SCALAR
