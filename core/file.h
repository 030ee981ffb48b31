#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The bytes of a file, unpacked if it is gzipped (told by its first two bytes, not by its name).
/// Reads at most `limit` bytes. Throws DataError for a file that is missing, larger or damaged.
std::vector<std::byte> read_file(const std::filesystem::path& path,
                                 std::size_t limit = std::size_t{4} << 30);

/// The same as text, of at most 1 GiB.
std::string read_text(const std::filesystem::path& path);

/// Writes a file whole or not at all: to a temporary file beside it, which then takes its name.
/// Symlinks are followed, the permissions of a file that is replaced are kept, and temporary files
/// of writers that were killed are removed. Throws DataError when that fails, also for what is no
/// regular file, such as a device; what was there before is kept.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace tapegrad::TAPEGRAD_SCALAR
