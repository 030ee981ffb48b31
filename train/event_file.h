#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The checksum CRC-32C of bytes (RFC 3720, section 12.1; values in its appendix B.4).
/// Example: `crc32c("123456789") == 0xe3069283`
std::uint32_t crc32c(std::string_view bytes);

/// Whether EventFile gives its files such a name.
/// Example: `is_event_file("events.out.tfevents.1700000000.host.tapegrad")`
bool is_event_file(const std::filesystem::path& file);

/// Scalars for TensorBoard, in a file of its own format: records with checksums (TFRecord), each a
/// message of tensorflow/core/util/event.proto. The file grows record by record. If the program is
/// killed while writing one, TensorBoard reads all before it. A first record makes TensorBoard
/// forget the older files of the directory, since a resumed run writes all of its rows again.
/// Example: `EventFile file("."); file.add(1, 1.7e9, {{"train_loss", 0.7}, {"norm", 2.5}})`
class EventFile {
 public:
  using Scalars = std::vector<std::pair<std::string, double>>;

  /// Chooses a new name, events.out.tfevents.SECONDS.HOST.tapegrad. `add` creates the file.
  explicit EventFile(const std::filesystem::path& directory);

  /// Appends an event. wall_time: in seconds since 1970   scalars: by tag, kept in single precision
  /// Throws DataError if it cannot be written; the file then lacks the event or ends within it, and
  /// the next call continues where it begins.
  void add(Index step, double wall_time, const Scalars& scalars);

 private:
  std::filesystem::path path_;
  std::uintmax_t size_ = 0;  // of what has been written completely
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
