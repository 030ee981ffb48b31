#include "tapegrad/train/event_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <fstream>

#include "tapegrad/core/error.h"
#include "tapegrad/io/internal/descriptor.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

constexpr const char* event_prefix = "events.out.tfevents.";
constexpr const char* event_suffix = ".tapegrad";  // other programs' files are left alone

// The remainder of each byte.
constexpr std::array<std::uint32_t, 256> crc_table = [] {
  constexpr std::uint32_t polynomial = 0x82f63b78;  // bits reversed
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit)
      remainder = (remainder >> 1) ^ ((remainder & 1) != 0 ? polynomial : 0);
    table[byte] = remainder;
  }
  return table;
}();

// The low bytes of a number, the lowest first.
std::string little_endian(std::uint64_t number, int bytes) {
  std::string result;
  for (int i = 0; i < bytes; ++i) result += static_cast<char>(number >> (8 * i) & 0xff);
  return result;
}

// Checksums of data that hold checksums themselves would be weak, so TFRecord masks them.
std::string masked_crc(const std::string& bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return little_endian(std::rotr(crc, 15) + 0xa282ead8, 4);
}

std::string tf_record(const std::string& data) {
  const std::string length = little_endian(data.size(), 8);
  return length + masked_crc(length) + data + masked_crc(data);
}

// The parts of protocol buffers that events need: fields by number, in four encodings.
std::string varint(std::uint64_t number) {
  std::string result;
  for (; number >= 0x80; number >>= 7) result += static_cast<char>((number & 0x7f) | 0x80);
  return result + static_cast<char>(number);
}

std::string varint_field(std::uint64_t field, std::uint64_t value) {
  return varint(field << 3) + varint(value);
}

std::string double_field(std::uint64_t field, double value) {
  return varint(field << 3 | 1) + little_endian(std::bit_cast<std::uint64_t>(value), 8);
}

std::string bytes_field(std::uint64_t field, const std::string& value) {
  return varint(field << 3 | 2) + varint(value.size()) + value;
}

std::string float_field(std::uint64_t field, float value) {
  return varint(field << 3 | 5) + little_endian(std::bit_cast<std::uint32_t>(value), 4);
}

// The messages Event, Summary, Summary.Value and SessionLog, by the numbers of their fields.
std::string event_message(double wall_time, Index step, const std::string& what) {
  return double_field(1, wall_time) + varint_field(2, static_cast<std::uint64_t>(step)) + what;
}

std::string summary_of(const EventFile::Scalars& scalars) {
  std::string values;
  for (const auto& [tag, value] : scalars)
    values += bytes_field(1, bytes_field(1, tag) + float_field(2, static_cast<float>(value)));
  return bytes_field(5, values);
}

// The version of the format, and the start of a session: it drops all events from step 0 on.
std::string opening(double wall_time) {
  constexpr std::uint64_t start = 1;
  return tf_record(event_message(wall_time, 0, bytes_field(3, "brain.Event:2"))) +
         tf_record(event_message(wall_time, 0, bytes_field(7, varint_field(1, start))));
}

std::string host() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size()) == 0 ? name.data() : "localhost";
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t remainder = 0xffffffff;
  for (const char byte : bytes)
    remainder = (remainder >> 8) ^ crc_table[(remainder ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~remainder;
}

bool is_event_file(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  return name.starts_with(event_prefix) && name.ends_with(event_suffix);
}

// TensorBoard reads the files of a directory in the order of their names.
EventFile::EventFile(const std::filesystem::path& directory) {
  std::time_t seconds = std::time(nullptr);
  std::error_code error;  // add() reports it
  do {
    path_ = directory / fmt::format("{}{}.{}{}", event_prefix, seconds++, host(), event_suffix);
  } while (std::filesystem::exists(std::filesystem::symlink_status(path_, error)));
}

void EventFile::add(Index step, double wall_time, const Scalars& scalars) {
  const std::string records = (size_ == 0 ? opening(wall_time) : "") +
                              tf_record(event_message(wall_time, step, summary_of(scalars)));
  const auto expect_written = [&](bool written, const std::string& reason) {
    expect<DataError>(written, "event file: cannot write {}: {}", path_.string(), reason);
  };
  if (size_ == 0) {  // a link that somebody has put there meanwhile is not followed
    const Descriptor made(::open(path_.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666));
    expect_written(made.is_open(), reason_of(errno));
  } else {
    std::error_code error;
    std::filesystem::resize_file(path_, size_, error);  // what a failed write has left
    expect_written(!error, reason_of(error.value()));
  }
  errno = 0;
  std::ofstream file(path_, std::ios::binary | (size_ > 0 ? std::ios::app : std::ios::trunc));
  file << records;
  file.close();
  expect_written(!file.fail(), reason_of(errno));
  size_ += records.size();
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
