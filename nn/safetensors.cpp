#include "tapegrad/nn/safetensors.h"

#include <zlib.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "tapegrad/core/error.h"
#include "tapegrad/core/file.h"

namespace tapegrad {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

constexpr std::size_t length_bytes = 8;
constexpr std::uint64_t header_limit = 100'000'000;  // that of the format's own reader
constexpr const char* own_type = sizeof(real) == 4 ? "F32" : "F64";
constexpr const char* index_type = "I64";
constexpr const char* metadata_name = "__metadata__";
constexpr const char* checksum_key = "tapegrad.checksum";
constexpr int header_depth = 3;  // an array of sizes in a tensor's object in the header

// ---- Values -------------------------------------------------------------------------------------

struct Entry {
  std::string name, type;
  Shape shape;
  std::uint64_t begin, end;  // bytes of the values
};

// Of all tensors: of what the header says of them, sorted by name, and of their values in the order
// of the file. CRC-32 finds every flipped bit, and all damage within 4 bytes.
class Checksum {
 public:
  // The header without remarks.
  explicit Checksum(const json& tensors) {
    const std::string text = tensors.dump();
    add(std::as_bytes(std::span(text)));
  }
  void add(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;  // of which zlib would begin anew
    value_ = crc32_z(value_, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  }
  std::string text() const { return fmt::format("crc32:{:08x}", value_); }

 private:
  uLong value_ = 0;
};

// The values of a file, read once from the first to the last. What has been read takes no memory.
class Values {
 public:
  Values(const FileBytes& file, std::size_t begin, const json& tensors)
      : file_(file),
        left_(file.bytes().subspan(begin)),
        piece_(left_.first(0)),
        checksum_(tensors) {}

  // The next values of a tensor: as many as a cache holds, none behind its end.
  std::span<const std::byte> next(const Entry& tensor) {
    constexpr std::uint64_t most = std::uint64_t{1} << 18;
    file_.release(piece_);
    piece_ = left_.first(std::min(tensor.end - position_, most));
    left_ = left_.subspan(piece_.size());
    position_ += piece_.size();
    checksum_.add(piece_);
    return piece_;
  }
  void skip(const Entry& tensor) {
    while (!next(tensor).empty()) continue;
  }
  const Checksum& checksum() const { return checksum_; }

 private:
  const FileBytes& file_;
  std::span<const std::byte> left_, piece_;
  std::uint64_t position_ = 0;
  Checksum checksum_;
};

// ---- Types of values ----------------------------------------------------------------------------

// Whether the greatest exponent stands for infinities and NaN, as in IEEE 754, or for numbers too,
// but for one NaN of all ones (OCP 8-bit floating point specification, section 5).
enum class Top { special, numbers };

// The value of a float of few bits: sign, exponent, mantissa.
double small_float(std::uint32_t bits, int exponent_bits, int mantissa_bits, Top top) {
  const std::uint32_t greatest = (1U << exponent_bits) - 1, ones = (1U << mantissa_bits) - 1;
  const std::uint32_t mantissa = bits & ones, exponent = bits >> mantissa_bits & greatest;
  const double sign = bits >> (exponent_bits + mantissa_bits) == 0 ? 1 : -1;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (exponent == greatest && top == Top::special && mantissa == 0) return sign * INFINITY;
  if (exponent == greatest && (top == Top::special || mantissa == ones)) return NAN;
  const std::uint32_t leading = exponent == 0 ? 0 : ones + 1;  // subnormal numbers have none
  const int power = std::max(1, static_cast<int>(exponent)) - bias - mantissa_bits;
  return sign * std::ldexp(leading + mantissa, power);
}

double of_f64(double value) { return value; }
double of_f32(float value) { return value; }
double of_f16(std::uint16_t bits) { return small_float(bits, 5, 10, Top::special); }
double of_bf16(std::uint16_t bits) { return small_float(bits, 8, 7, Top::special); }
double of_f8_e5m2(std::uint8_t bits) { return small_float(bits, 5, 2, Top::special); }
double of_f8_e4m3(std::uint8_t bits) { return small_float(bits, 4, 3, Top::numbers); }
// A scale: an exponent alone.
double of_f8_e8m0(std::uint8_t bits) { return bits == 0xff ? NAN : std::ldexp(1.0, bits - 127); }

// Calls `take` with each value of a tensor, until one is refused.
template <class Stored, class Take>
void read_each(const Entry& entry, Values& values, const Take& take) {
  for (auto piece = values.next(entry); !piece.empty(); piece = values.next(entry))
    for (std::size_t at = 0; at < piece.size(); at += sizeof(Stored)) {
      Stored value;
      std::memcpy(&value, piece.data() + at, sizeof value);
      if (!take(value)) return;
    }
}

// Both read a tensor into `file`, or say there why they cannot.
template <class Stored, double (*value_of)(Stored)>
void read_reals(const Entry& entry, Values& values, TensorFile& file) {
  Tensor tensor = Tensor::uninitialized(entry.shape);
  real* out = tensor.mutable_data();
  read_each<Stored>(entry, values, [&](Stored stored) {
    const double value = value_of(stored);
    if (std::isfinite(value) && std::abs(value) > std::numeric_limits<real>::max()) {
      file.unread[entry.name] = fmt::format("holds {}, too large for {}", value, own_type);
      return false;
    }
    *out++ = static_cast<real>(value);
    return true;
  });
  if (file.unread.count(entry.name) == 0) file.tensors.emplace(entry.name, tensor);
}

template <class Stored>
void read_indices(const Entry& entry, Values& values, TensorFile& file) {
  constexpr bool boolean = std::is_same_v<Stored, bool>;
  using Number = std::conditional_t<boolean, std::uint8_t, Stored>;
  Indices indices = Indices::uninitialized(entry.shape);
  Index* out = indices.mutable_data();
  read_each<Number>(entry, values, [&](Number value) {
    if (boolean ? value > 1 : !std::in_range<Index>(value)) {
      file.unread[entry.name] = fmt::format("holds {}, which {}", value,
                                            boolean ? "is no BOOL" : "is too large for an index");
      return false;
    }
    *out++ = static_cast<Index>(value);
    return true;
  });
  if (file.unread.count(entry.name) == 0) file.indices.emplace(entry.name, indices);
}

struct Type {
  std::uint64_t bytes;
  void (*read)(const Entry& entry, Values& values, TensorFile& file);
};
template <class Stored, double (*value_of)(Stored)>
constexpr Type reals{sizeof(Stored), read_reals<Stored, value_of>};
template <class Stored>
constexpr Type integers{sizeof(Stored), read_indices<Stored>};

// Not those of fewer than 8 bits (F4, F6_E2M3, F6_E3M2): the format does not say how it packs them.
const std::map<std::string, Type>& types() {
  static const std::map<std::string, Type> all{
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

// A size or an offset: nothing negative, fractional or beyond 63 bits.
Index count_of(const std::string& where, const json& number) {
  const bool fits =
      number.is_number_unsigned() && std::in_range<Index>(number.get<std::uint64_t>());
  if (!fits) throw DataError(fmt::format("{}: {} is no size", where, beginning(number.dump())));
  return number.get<Index>();
}

// `where` begins messages: it names file and tensor.
Entry entry_of(const std::string& where, const std::string& name, const json& entry) {
  const auto has = [&](const char* key, json::value_t type) {
    return entry.contains(key) && entry[key].type() == type;
  };
  expect<DataError>(has("dtype", json::value_t::string) && has("shape", json::value_t::array) &&
                        has("data_offsets", json::value_t::array) &&
                        entry["data_offsets"].size() == 2,
                    "{}: the header gives no dtype, shape and two data_offsets", where);
  std::vector<Index> extents;
  for (const json& extent : entry["shape"]) extents.push_back(count_of(where, extent));
  const auto offset = [&](std::size_t i) {
    return static_cast<std::uint64_t>(count_of(where, entry["data_offsets"][i]));
  };
  try {
    return {name, entry["dtype"].get<std::string>(), Shape(extents), offset(0), offset(1)};
  } catch (const ShapeError& error) {
    throw DataError(fmt::format("{}: {}", where, error.what()));
  }
}

// Sorts tensors by their place. Throws DataError unless they lie one after another from the first
// to the last byte.
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
                    "load_tensors: {}: the tensors end at byte {} of {} of the values", file, next,
                    size);
}

json header_of(const std::string& file, std::span<const std::byte> bytes) {
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  // What is nested deeper is refused while it is read: taking it apart would recurse as deep. So
  // are long lists, which would take a multiple of the file's memory.
  constexpr int most_behind_key = 1 + Shape::max_rank;  // a list of sizes
  int behind_key = 0;
  std::set<std::string> names;
  using Event = json::parse_event_t;
  const auto expected = [&](int depth, Event event, const json& parsed) {
    expect<DataError>(depth <= header_depth,
                      "load_tensors: {}: the header is nested deeper than that of tensors", file);
    if (event == Event::key)
      behind_key = 0;
    else if (event != Event::array_end && event != Event::object_end)
      expect<DataError>(++behind_key <= most_behind_key,
                        "load_tensors: {}: the header has a list of more than {} values", file,
                        int{Shape::max_rank});
    if (depth == 1 && event == Event::key)
      expect<DataError>(names.insert(parsed.get<std::string>()).second,
                        "load_tensors: {}: the header has {} twice", file,
                        beginning(parsed.get<std::string>()));
    return true;
  };
  try {
    json header = json::parse(text, text + bytes.size(), expected);
    expect<DataError>(header.is_object(), "load_tensors: {}: the header is no JSON object", file);
    return header;
  } catch (const json::parse_error& error) {
    throw DataError(fmt::format("load_tensors: {}: the header is no JSON at byte {}", file,
                                length_bytes + error.byte - 1));
  } catch (const json::exception&) {
    throw DataError(fmt::format("load_tensors: {}: the header has a number out of range", file));
  }
}

std::map<std::string, std::string> metadata_of(const std::string& file, const json& entry) {
  std::map<std::string, std::string> metadata;
  expect<DataError>(entry.is_object(), "load_tensors: {}: {} is no JSON object", file,
                    metadata_name);
  for (const auto& [key, value] : entry.items()) {
    expect<DataError>(value.is_string(), "load_tensors: {}: {} of {} is no text", file,
                      beginning(key), metadata_name);
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

void read_tensor(const std::string& where, const Entry& entry, Values& values, TensorFile& file) {
  const auto type = types().find(entry.type);
  if (type == types().end()) {
    file.unread[entry.name] =
        fmt::format("is of type {}, which is not read", beginning(entry.type));
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
  json header = json::object();
  std::string head(length_bytes, '\0');
  std::vector<std::span<const std::byte>> parts(1);  // the first for the header
  std::uint64_t offset = 0;
  const auto enter = [&](const std::string& name, const char* type, const auto& tensor) {
    expect<DataError>(tensor.defined(), "{}: {} is undefined", where, name);
    expect<DataError>(name != metadata_name && !header.contains(name), "{}: the name {} is taken",
                      where, name);
    parts.push_back(std::as_bytes(tensor.values()));
    const std::uint64_t end = offset + parts.back().size();
    header[name] = {{"dtype", type},
                    {"shape", std::vector<Index>(tensor.shape().begin(), tensor.shape().end())},
                    {"data_offsets", {offset, end}}};
    offset = end;
  };
  for (const auto& [name, why] : file.unread)
    throw DataError(fmt::format("{}: tensor {} was not read: it {}", where, beginning(name), why));
  // The wider values first, so that all lie at multiples of their size.
  for (const auto& [name, indices] : file.indices) enter(name, index_type, indices);
  for (const auto& [name, tensor] : file.tensors) enter(name, own_type, tensor);
  expect<DataError>(file.metadata.count(checksum_key) == 0, "{}: the name {} is taken", where,
                    checksum_key);
  try {
    Checksum checksum(header);
    for (const auto& part : parts) checksum.add(part);
    header[metadata_name] = file.metadata;
    header[metadata_name][checksum_key] = checksum.text();
    head += header.dump();
  } catch (const json::type_error&) {
    throw DataError(where + ": a name or remark is not UTF-8");
  }
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
                    "load_tensors: {} is no safetensors file: it ends at byte {}", name,
                    bytes.size());
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), length_bytes);
  expect<DataError>(
      length <= bytes.size() - length_bytes,
      "load_tensors: {} ends at byte {}, within its header of {} bytes; write weights of "
      "PyTorch with safetensors.torch.save_file",
      name, bytes.size(), length);
  expect<DataError>(length <= header_limit,
                    "load_tensors: {} has a header of {} bytes, more than {}", name, length,
                    header_limit);
  json header = header_of(name, bytes.subspan(length_bytes, length));
  const std::size_t begin = length_bytes + length, size = bytes.size() - begin;

  TensorFile file;
  if (header.contains(metadata_name)) file.metadata = metadata_of(name, header[metadata_name]);
  header.erase(metadata_name);
  const auto where = [&](const std::string& tensor) {
    return fmt::format("load_tensors: {}: tensor {}", name, beginning(tensor));
  };
  std::vector<Entry> entries;
  for (const auto& [key, value] : header.items()) {
    const Entry& entry = entries.emplace_back(entry_of(where(key), key, value));
    expect<DataError>(entry.begin <= entry.end && entry.end <= size,
                      "{}: it lies at bytes {} to {} of {}", where(key), entry.begin, entry.end,
                      size);
  }
  sort_contiguous(name, entries, size);
  Values values(whole, begin, header);
  for (const Entry& entry : entries) read_tensor(where(entry.name), entry, values, file);
  if (const auto saved = file.metadata.extract(checksum_key))
    expect<DataError>(
        saved.mapped() == values.checksum().text(),
        "load_tensors: {} is damaged, or a program has changed its tensors but not their checksum "
        "{}: it is {}, not {}",
        name, checksum_key, values.checksum().text(), beginning(saved.mapped()));
  return file;
}

}  // namespace tapegrad
