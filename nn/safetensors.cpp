#include "tapegrad/nn/safetensors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "tapegrad/core/error.h"
#include "tapegrad/core/file.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

constexpr std::size_t length_bytes = 8;
constexpr std::uint64_t header_limit = 100'000'000;  // that of the format's own reader
constexpr const char* own_type = sizeof(real) == 4 ? "F32" : "F64";
constexpr const char* index_type = "I64";
constexpr const char* metadata_name = "__metadata__";
constexpr int header_depth = 3;  // an array of sizes in a tensor's object in the header

// The beginning of what a file says, for a message.
std::string beginning(const std::string& text) {
  constexpr std::size_t shown = 100;
  return text.size() <= shown ? text : text.substr(0, shown) + "...";
}

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

template <class Stored>
Stored stored(const std::byte* bytes, Index i) {
  Stored value;
  std::memcpy(&value, bytes + i * static_cast<Index>(sizeof(Stored)), sizeof(Stored));
  return value;
}

// Both read a tensor from its bytes into `file`, or say there why they cannot.
template <class Stored, double (*value_of)(Stored)>
void read_reals(const std::string& name, const Shape& shape, const std::byte* bytes,
                TensorFile& file) {
  Tensor tensor = Tensor::uninitialized(shape);
  real* out = tensor.mutable_data();
  for (Index i = 0; i < shape.size(); ++i) {
    const double value = value_of(stored<Stored>(bytes, i));
    if (std::isfinite(value) && std::abs(value) > std::numeric_limits<real>::max()) {
      file.unread[name] = fmt::format("holds {}, too large for {}", value, own_type);
      return;
    }
    out[i] = static_cast<real>(value);
  }
  file.tensors.emplace(name, tensor);
}

template <class Stored>
void read_indices(const std::string& name, const Shape& shape, const std::byte* bytes,
                  TensorFile& file) {
  constexpr bool boolean = std::is_same_v<Stored, bool>;
  using Number = std::conditional_t<boolean, std::uint8_t, Stored>;
  Indices indices = Indices::uninitialized(shape);
  Index* out = indices.mutable_data();
  for (Index i = 0; i < shape.size(); ++i) {
    const auto value = stored<Number>(bytes, i);
    if (boolean ? value > 1 : !std::in_range<Index>(value)) {
      file.unread[name] = fmt::format("holds {}, which {}", value,
                                      boolean ? "is no BOOL" : "is too large for an index");
      return;
    }
    out[i] = static_cast<Index>(value);
  }
  file.indices.emplace(name, indices);
}

struct Type {
  std::uint64_t bytes;
  void (*read)(const std::string& name, const Shape& shape, const std::byte* bytes,
               TensorFile& file);
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

struct Entry {
  std::string type;
  Shape shape;
  std::uint64_t begin, end;  // bytes of the values
};

// A size or an offset: nothing negative, fractional or beyond 63 bits.
Index count_of(const std::string& where, const json& number) {
  const bool fits =
      number.is_number_unsigned() && std::in_range<Index>(number.get<std::uint64_t>());
  if (!fits) throw DataError(fmt::format("{}: {} is no size", where, beginning(number.dump())));
  return number.get<Index>();
}

// `where` begins messages: it names file and tensor.
Entry entry_of(const std::string& where, const json& entry) {
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
    return {entry["dtype"].get<std::string>(), Shape(extents), offset(0), offset(1)};
  } catch (const ShapeError& error) {
    throw DataError(fmt::format("{}: {}", where, error.what()));
  }
}

// Throws DataError unless the tensors lie one after another from the first to the last byte.
void expect_contiguous(const std::string& file, std::vector<Entry> entries, std::uint64_t size) {
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
  // What is nested deeper is refused while it is read: taking it apart would recurse as deep.
  std::set<std::string> names;
  const auto expected = [&](int depth, json::parse_event_t event, const json& parsed) {
    expect<DataError>(depth <= header_depth,
                      "load_tensors: {}: the header is nested deeper than that of tensors", file);
    if (depth == 1 && event == json::parse_event_t::key)
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

void read_tensor(const std::string& where, const std::string& name, const Entry& entry,
                 std::span<const std::byte> data, TensorFile& file) {
  expect<DataError>(entry.begin <= entry.end && entry.end <= data.size(),
                    "{}: it lies at bytes {} to {} of {}", where, entry.begin, entry.end,
                    data.size());
  const auto type = types().find(entry.type);
  if (type == types().end()) {
    file.unread[name] = fmt::format("is of type {}, which is not read", beginning(entry.type));
    return;
  }
  const std::uint64_t bytes = static_cast<std::uint64_t>(entry.shape.size()) * type->second.bytes;
  expect<DataError>(entry.end - entry.begin == bytes,
                    "{}: {} of shape {} does not fit bytes {} to {}", where, entry.type,
                    entry.shape, entry.begin, entry.end);
  type->second.read(name, entry.shape, data.data() + entry.begin, file);
}

}  // namespace

void save_tensors(const std::filesystem::path& path, const TensorFile& file) {
  json header = json::object();
  std::uint64_t offset = 0;
  const auto enter = [&](const std::string& name, const char* type, const auto& values,
                         std::size_t bytes) {
    expect<DataError>(values.defined(), "save_tensors: {}: {} is undefined", path.string(), name);
    const Shape& shape = values.shape();
    expect<DataError>(name != metadata_name && !header.contains(name),
                      "save_tensors: {}: the name {} is taken", path.string(), name);
    const std::uint64_t end = offset + static_cast<std::uint64_t>(shape.size()) * bytes;
    header[name] = {{"dtype", type},
                    {"shape", std::vector<Index>(shape.begin(), shape.end())},
                    {"data_offsets", {offset, end}}};
    offset = end;
  };
  for (const auto& [name, why] : file.unread)
    throw DataError(
        fmt::format("save_tensors: {}: tensor {} was not read: it {}", path.string(), name, why));
  // The wider values first, so that all lie at multiples of their size.
  for (const auto& [name, indices] : file.indices) enter(name, index_type, indices, sizeof(Index));
  for (const auto& [name, tensor] : file.tensors) enter(name, own_type, tensor, sizeof(real));
  if (!file.metadata.empty()) header[metadata_name] = file.metadata;
  std::string text;
  try {
    text = header.dump();
  } catch (const json::type_error&) {
    throw DataError(fmt::format("save_tensors: {}: a name or remark is not UTF-8", path.string()));
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the values begin at a multiple of 8

  std::vector<std::byte> bytes(length_bytes + text.size() + offset);
  std::byte* out = bytes.data();
  const auto append = [&](const void* from, std::size_t size) {
    if (size > 0) std::memcpy(out, from, size);
    out += size;
  };
  const std::uint64_t length = text.size();
  append(&length, length_bytes);
  append(text.data(), text.size());
  for (const auto& [name, indices] : file.indices)
    append(indices.data(), static_cast<std::size_t>(indices.size()) * sizeof(Index));
  for (const auto& [name, tensor] : file.tensors)
    append(tensor.data(), static_cast<std::size_t>(tensor.size()) * sizeof(real));
  write_file(path, bytes);
}

TensorFile load_tensors(const std::filesystem::path& path) {
  const std::string name = path.string();
  const std::vector<std::byte> bytes = read_file(path);
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
  const auto header = header_of(name, std::span(bytes).subspan(length_bytes, length));
  const auto data = std::span(bytes).subspan(length_bytes + length);
  TensorFile file;
  std::vector<Entry> entries;
  for (const auto& [key, value] : header.items()) {
    if (key == metadata_name) {
      file.metadata = metadata_of(name, value);
      continue;
    }
    const std::string where = fmt::format("load_tensors: {}: tensor {}", name, beginning(key));
    entries.push_back(entry_of(where, value));
    read_tensor(where, key, entries.back(), data, file);
  }
  expect_contiguous(name, std::move(entries), data.size());
  return file;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
