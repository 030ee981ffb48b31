#include "tapegrad/io/safetensors.h"

#include <zlib.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "tapegrad/core/error.h"
#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/io/file.h"
#include "tapegrad/io/internal/safetensors_header.h"
#include "tapegrad/io/internal/small_float.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

using Entry = SafetensorsEntry;

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

constexpr std::size_t length_bytes = 8;
constexpr std::uint64_t header_limit = 100'000'000;  // as in the format's own reader
constexpr const char* own_type = sizeof(real) == 4 ? "F32" : "F64";
constexpr const char* index_type = "I64";
constexpr const char* checksum_key = "tapegrad.checksum";

// ---- Values -------------------------------------------------------------------------------------

// A checksum of all tensors: of their header entries, sorted by name, and of their values in file
// order. CRC-32 detects every flipped bit, and all damage within 4 bytes.
class Checksum {
 public:
  // header: without metadata.
  explicit Checksum(const std::string& header) { add(std::as_bytes(std::span(header))); }
  void add(std::span<const std::byte> bytes) {
    add(bytes, [](std::span<const std::byte>, Index) {});
  }
  // Calls use(part, begin) for each part of the bytes as well, on several threads.
  template <class Use>
  void add(std::span<const std::byte> bytes, const Use& use) {
    constexpr Index most = Index{1} << 18;
    std::vector<std::pair<uLong, z_off_t>> sums((bytes.size() + most - 1) / most);
    parallel_ranges(std::ssize(bytes), most, [&](Index begin, Index end) {
      const auto part =
          bytes.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
      const auto* data = reinterpret_cast<const Bytef*>(part.data());
      sums[static_cast<std::size_t>(begin / most)] = {crc32_z(0, data, part.size()), end - begin};
      use(part, begin);
    });
    for (const auto& [sum, size] : sums) value_ = crc32_combine(value_, sum, size);
  }
  std::string to_string() const { return fmt::format("crc32:{:08x}", value_); }

 private:
  uLong value_ = 0;
};

// Reads the values of a file once, from first to last. Values already read take no memory.
class ValueReader {
 public:
  ValueReader(const FileBytes& file, std::size_t begin, const std::string& header)
      : file_(file),
        left_(file.bytes().subspan(begin)),
        piece_(left_.first(0)),
        checksum_(header) {}

  // The next values of a tensor, as many as a cache holds; none after its end.
  std::span<const std::byte> next(const Entry& tensor) {
    constexpr std::uint64_t most = std::uint64_t{1} << 18;
    take(std::min(tensor.end - position_, most));
    checksum_.add(piece_);
    return piece_;
  }
  // Copies all values of a tensor.
  void copy(const Entry& tensor, std::byte* to) {
    take(tensor.end - position_);
    checksum_.add(piece_, [&](std::span<const std::byte> part, Index begin) {
      std::ranges::copy(part, to + begin);
      file_.release(part);
    });
    piece_ = left_.first(0);  // it is released
  }
  void skip(const Entry& tensor) {
    while (!next(tensor).empty()) continue;
  }
  const Checksum& checksum() const { return checksum_; }

 private:
  void take(std::uint64_t size) {
    file_.release(piece_);
    piece_ = left_.first(size);
    left_ = left_.subspan(size);
    position_ += size;
  }

  const FileBytes& file_;
  std::span<const std::byte> left_, piece_;
  std::uint64_t position_ = 0;
  Checksum checksum_;
};

// ---- Types of values ----------------------------------------------------------------------------

double of_f64(double value) { return value; }
double of_f32(float value) { return value; }
double of_bf16(std::uint16_t bits) { return small_float(bits, 8, 7, Top::special); }
double of_f8_e5m2(std::uint8_t bits) { return small_float(bits, 5, 2, Top::special); }
double of_f8_e4m3(std::uint8_t bits) { return small_float(bits, 4, 3, Top::numbers); }
// A scale, which is only an exponent.
double of_f8_e8m0(std::uint8_t bits) { return bits == 0xff ? NAN : std::ldexp(1.0, bits - 127); }

// Calls `take` with each value of a tensor, until one is refused.
template <class Stored, class Take>
void read_each(const Entry& entry, ValueReader& values, const Take& take) {
  for (auto piece = values.next(entry); !piece.empty(); piece = values.next(entry))
    for (std::size_t at = 0; at < piece.size(); at += sizeof(Stored)) {
      Stored value;
      std::memcpy(&value, piece.data() + at, sizeof value);
      if (!take(value)) return;
    }
}

// Both read a tensor into `file`, or record there why they cannot.
template <class Stored, double (*value_of)(Stored)>
void read_reals(const Entry& entry, ValueReader& values, TensorFile& file) {
  Tensor tensor = Tensor::uninitialized(entry.shape);
  real* out = tensor.mutable_data();
  if constexpr (std::is_same_v<Stored, real>) {
    values.copy(entry, reinterpret_cast<std::byte*>(out));
  } else {
    read_each<Stored>(entry, values, [&](Stored stored) {
      const double value = value_of(stored);
      if (std::isfinite(value) && std::abs(value) > std::numeric_limits<real>::max()) {
        file.unread[entry.name] = fmt::format("holds {}, too large for {}", value, own_type);
        return false;
      }
      *out++ = static_cast<real>(value);
      return true;
    });
  }
  if (file.unread.count(entry.name) == 0) file.tensors.emplace(entry.name, tensor);
}

template <class Stored>
void read_indices(const Entry& entry, ValueReader& values, TensorFile& file) {
  constexpr bool boolean = std::is_same_v<Stored, bool>;
  using Number = std::conditional_t<boolean, std::uint8_t, Stored>;
  Indices indices = Indices::uninitialized(entry.shape);
  Index* out = indices.mutable_data();
  read_each<Number>(entry, values, [&](Number value) {
    if (boolean ? value > 1 : !std::in_range<Index>(value)) {
      file.unread[entry.name] = fmt::format(
          "holds {}, which {}", value, boolean ? "is not a BOOL" : "is too large for an index");
      return false;
    }
    *out++ = static_cast<Index>(value);
    return true;
  });
  if (file.unread.count(entry.name) == 0) file.indices.emplace(entry.name, indices);
}

struct StoredType {
  std::uint64_t bytes;
  void (*read)(const Entry& entry, ValueReader& values, TensorFile& file);
};
template <class Stored, double (*value_of)(Stored)>
constexpr StoredType reals{sizeof(Stored), read_reals<Stored, value_of>};
template <class Stored>
constexpr StoredType integers{sizeof(Stored), read_indices<Stored>};

// Types below 8 bits (F4, F6_E2M3, F6_E3M2) are missing: the format does not define how to pack
// them.
const std::map<std::string, StoredType>& stored_types() {
  static const std::map<std::string, StoredType> all{
      {"F64", reals<double, of_f64>},
      {"F32", reals<float, of_f32>},
      {"F16", reals<std::uint16_t, of_f16>},
      {"BF16", reals<std::uint16_t, of_bf16>},
      {"F8_E5M2", reals<std::uint8_t, of_f8_e5m2>},
      {"F8_E4M3", reals<std::uint8_t, of_f8_e4m3>},
      {"F8_E8M0", reals<std::uint8_t, of_f8_e8m0>},
      {"I64", integers<std::int64_t>},
      {"I32", integers<std::int32_t>},
      {"I16", integers<std::int16_t>},
      {"I8", integers<std::int8_t>},
      {"U64", integers<std::uint64_t>},
      {"U32", integers<std::uint32_t>},
      {"U16", integers<std::uint16_t>},
      {"U8", integers<std::uint8_t>},
      {"BOOL", integers<bool>},
  };
  return all;
}

// ---- The header ---------------------------------------------------------------------------------

// Sorts tensors by position. Throws DataError unless they are contiguous from the first to the last
// byte.
void sort_contiguous(const std::string& file, std::vector<Entry>& entries, std::uint64_t size) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t next = 0;
  for (const Entry& entry : entries) {
    expect<DataError>(entry.begin == next,
                      "load_tensors: {}: a tensor begins at byte {} of the values, not at {}", file,
                      entry.begin, next);
    next = entry.end;
  }
  expect<DataError>(next == size,
                    "load_tensors: {}: the tensors end at byte {} of {} bytes of values", file,
                    next, size);
}

void read_tensor(const std::string& where, const Entry& entry, ValueReader& values,
                 TensorFile& file) {
  const auto type = stored_types().find(entry.type);
  if (type == stored_types().end()) {
    file.unread[entry.name] = fmt::format("has the unsupported type {}", beginning(entry.type));
  } else {
    const std::uint64_t bytes = static_cast<std::uint64_t>(entry.shape.size()) * type->second.bytes;
    expect<DataError>(entry.end - entry.begin == bytes,
                      "{}: {} of shape {} does not fit bytes {} to {}", where, entry.type,
                      entry.shape, entry.begin, entry.end);
    type->second.read(entry, values, file);
  }
  values.skip(entry);
}

}  // namespace

void save_tensors(const std::filesystem::path& path, const TensorFile& file) {
  const std::string where = "save_tensors: " + path.string();
  std::vector<Entry> entries;
  std::set<std::string> names{metadata_name};
  std::string head(length_bytes, '\0');
  std::vector<std::span<const std::byte>> parts(1);  // the first for the header
  std::uint64_t offset = 0;
  const auto enter = [&](const std::string& name, const char* type, const auto& tensor) {
    expect<DataError>(tensor.defined(), "{}: {} is undefined", where, name);
    expect<DataError>(names.insert(name).second, "{}: the name {} is taken", where, name);
    parts.push_back(std::as_bytes(tensor.values()));
    const std::uint64_t end = offset + parts.back().size();
    entries.push_back({name, type, tensor.shape(), offset, end});
    offset = end;
  };
  for (const auto& [name, why] : file.unread)
    throw DataError(fmt::format("{}: tensor {} was not read: it {}", where, beginning(name), why));
  // Wider types first, so that all values are aligned.
  for (const auto& [name, indices] : file.indices) enter(name, index_type, indices);
  for (const auto& [name, tensor] : file.tensors) enter(name, own_type, tensor);
  expect<DataError>(file.metadata.count(checksum_key) == 0, "{}: the name {} is taken", where,
                    checksum_key);
  Checksum checksum(header_text(where, entries));
  for (const auto& part : parts) checksum.add(part);
  std::map<std::string, std::string> metadata = file.metadata;
  metadata[checksum_key] = checksum.to_string();
  head += header_text(where, entries, metadata);
  head.resize((head.size() + 7) / 8 * 8, ' ');  // the values begin at a multiple of 8
  const std::uint64_t length = head.size() - length_bytes;
  std::memcpy(head.data(), &length, length_bytes);
  parts.front() = std::as_bytes(std::span(head));
  write_file(path, parts);
}

TensorFile load_tensors(const std::filesystem::path& path) {
  const std::string name = path.string();
  const FileBytes whole = read_file(path);
  const std::span<const std::byte> bytes = whole.bytes();
  expect<DataError>(bytes.size() >= length_bytes,
                    "load_tensors: {} is not a safetensors file: it ends at byte {}", name,
                    bytes.size());
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), length_bytes);
  expect<DataError>(
      length <= bytes.size() - length_bytes,
      "load_tensors: {} ends at byte {}, within its header of {} bytes: it is cut off, or no "
      "safetensors file; save PyTorch weights with safetensors.torch.save_file",
      name, bytes.size(), length);
  expect<DataError>(length <= header_limit,
                    "load_tensors: {} has a header of {} bytes, more than {}", name, length,
                    header_limit);
  const std::size_t begin = length_bytes + length, size = bytes.size() - begin;
  const auto* text = reinterpret_cast<const char*>(bytes.data() + length_bytes);
  auto [entries, metadata] = parse_header(name, {text, length}, length_bytes);

  TensorFile file{.metadata = std::move(metadata)};
  const auto where = [&](const std::string& tensor) {
    return fmt::format("load_tensors: {}: tensor {}", name, beginning(tensor));
  };
  for (const Entry& entry : entries)
    expect<DataError>(entry.begin <= entry.end && entry.end <= size,
                      "{}: it lies at bytes {} to {} of {}; the file is cut off, or damaged",
                      where(entry.name), entry.begin, entry.end, size);
  ValueReader values(whole, begin, header_text(name, entries));
  sort_contiguous(name, entries, size);
  for (const Entry& entry : entries) read_tensor(where(entry.name), entry, values, file);
  if (const auto saved = file.metadata.extract(checksum_key))
    expect<DataError>(
        saved.mapped() == values.checksum().to_string(),
        "load_tensors: {} is damaged, or a program changed its tensors without updating their "
        "checksum {}: it is {}, not {}",
        name, checksum_key, values.checksum().to_string(), beginning(saved.mapped()));
  return file;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
