#pragma once

// Zip archives as bytes (pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT).

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A member of an archive, stored or deflated, as the archive's directory describes it.
struct ZipMember {
  std::string name;
  bool deflated;
  std::uint32_t checksum;             ///< CRC-32 of the content
  std::uint64_t size;                 ///< of the content
  std::uint64_t begin;                ///< in the archive
  std::span<const std::byte> stored;  ///< the content as it lies in the archive
};

/// The members of an archive, in the order in which they lie there. Throws DataError, which begins
/// with `where` and names the member, for bytes that are damaged, for encrypted members, methods
/// other than deflate, archives of several files, names that are used twice, and members that
/// promise more than `most` bytes together.
std::vector<ZipMember> zip_members(std::span<const std::byte> archive, const std::string& where,
                                   std::uint64_t most);

/// The content of a member: a piece of the archive, or unpacked into `room`. Throws DataError,
/// beginning with `where`, unless it has the member's size and checksum.
std::span<const std::byte> zip_content(const ZipMember& member, std::vector<std::byte>& room,
                                       const std::string& where);

/// An archive of stored members, of any size: always in the form with 8 bytes for sizes (zip64).
class ZipWriter {
 public:
  /// A member of two parts. The second must stay valid; the name, in UTF-8, has at most 65,535
  /// bytes.
  void add(const std::string& name, const std::string& head, std::span<const std::byte> rest);
  /// The whole archive, for `write_file`. Valid while this object lives.
  std::vector<std::span<const std::byte>> finish();

 private:
  void append(std::string text);

  std::deque<std::string> texts_;  // which keep their places when more are added
  std::vector<std::span<const std::byte>> parts_;
  std::string directory_;
  std::uint64_t size_ = 0, members_ = 0;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
