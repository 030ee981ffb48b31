#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "tapegrad/io/file.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The most bytes that a file may unpack to, and the most that may be built from it: 256 MiB, or
/// 100 times its own. Deflate packs up to 1032 bytes into one; real data rarely exceed 20.
constexpr std::size_t honest_size(std::size_t stored_bytes) {
  return std::max(std::size_t{256} << 20, 100 * stored_bytes);
}

/// What programs build from a text, such as its words or the numbers of its characters, is counted
/// as so many bytes for each of its own where the reader does not know it.
constexpr std::size_t built_per_byte = 16;

/// What an element takes of a vector that grows: while the old ones move to twice the room, they
/// stay where they were.
template <class T>
constexpr std::size_t in_growing_vector = 3 * sizeof(T);

/// The memory that these take.
inline std::size_t memory_of(const std::string& text) {
  static const std::size_t inside = std::string().capacity();  // needs no memory of its own
  constexpr std::size_t of_block = 16;                         // what malloc adds
  return sizeof(std::string) + (text.capacity() > inside ? text.capacity() + 1 + of_block : 0);
}
inline std::size_t memory_of(const std::vector<std::string>& texts) {
  std::size_t bytes = sizeof(std::vector<std::string>);
  for (const std::string& text : texts) bytes += memory_of(text);
  return bytes;
}

/// How much a reader may still build from a file, on all threads together. What it unpacks to is
/// part of that.
class Allowance {
 public:
  /// file: of which only the size is kept   name: for messages
  Allowance(const FileBytes& file, std::string name);

  /// Counts what the reader is about to keep. Throws DataError, naming the file, for more than the
  /// honest size of the file as it is stored.
  void take(std::size_t bytes) {
    if (taken_.fetch_add(bytes, std::memory_order_relaxed) + bytes > honest_size(stored_)) refuse();
  }

 private:
  [[noreturn]] void refuse() const;

  std::string name_;
  std::size_t stored_;
  std::atomic<std::size_t> taken_ = 0;
  bool packed_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
