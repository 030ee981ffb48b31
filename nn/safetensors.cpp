#include "tapegrad/nn/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "tapegrad/core/error.h"
#include "tapegrad/core/file.h"

namespace tapegrad {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

constexpr std::size_t length_bytes = 8;
constexpr std::uint64_t header_limit = 100'000'000;  // that of the format's own reader
constexpr const char* own_type = sizeof(real) == 4 ? "F32" : "F64";

template <class Stored>
Tensor converted(const Shape& shape, const std::byte* bytes) {
  Tensor tensor = Tensor::uninitialized(shape);
  real* out = tensor.mutable_data();
  for (Index i = 0; i < shape.size(); ++i) {
    Stored value;
    std::memcpy(&value, bytes + i * sizeof(Stored), sizeof(Stored));
    out[i] = static_cast<real>(value);
  }
  return tensor;
}

// Bytes of the values that a tensor takes.
struct Extent {
  std::uint64_t begin, end;
};

// A size or an offset: nothing negative, fractional or beyond 63 bits.
std::int64_t count_of(const json& number) {
  const bool fits = number.is_number_unsigned() &&
                    number.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max();
  expect(fits, "{} is no size", number.dump());
  return number.get<std::int64_t>();
}

Extent extent_of(const json& entry) {
  const json& offsets = entry.at("data_offsets");
  expect(offsets.is_array() && offsets.size() == 2, "{} are no two offsets", offsets.dump());
  return {static_cast<std::uint64_t>(count_of(offsets[0])),
          static_cast<std::uint64_t>(count_of(offsets[1]))};
}

// Throws DataError unless the tensors lie one after another from the first to the last byte.
void expect_contiguous(const std::string& file, std::vector<Extent> extents, std::uint64_t size) {
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t next = 0;
  for (const Extent& extent : extents) {
    expect<DataError>(extent.begin == next,
                      "load_tensors: {}: a tensor begins at byte {} of the values, not at {}", file,
                      extent.begin, next);
    next = extent.end;
  }
  expect<DataError>(next == size,
                    "load_tensors: {}: the tensors end at byte {} of {} of the values", file, next,
                    size);
}

Tensor read_tensor(const std::string& file, const std::string& name, const json& entry,
                   std::span<const std::byte> data) {
  const auto type = entry.at("dtype").get<std::string>();
  expect<DataError>(type == "F32" || type == "F64",
                    "load_tensors: {}: tensor {} is of type {}; F32 and F64 are read", file, name,
                    type);
  std::vector<Index> extents;
  for (const json& extent : entry.at("shape")) extents.push_back(count_of(extent));
  const Shape shape(extents);
  const auto [begin, end] = extent_of(entry);
  const std::uint64_t bytes = static_cast<std::uint64_t>(shape.size()) * (type == "F32" ? 4 : 8);
  expect<DataError>(begin <= end && end <= data.size() && end - begin == bytes,
                    "load_tensors: {}: tensor {} of shape {} does not fit bytes {} to {} of {}",
                    file, name, shape, begin, end, data.size());
  const std::byte* values = data.data() + begin;
  return type == "F32" ? converted<float>(shape, values) : converted<double>(shape, values);
}

}  // namespace

void save_tensors(const std::filesystem::path& path, const TensorFile& file) {
  json header = json::object();
  if (!file.metadata.empty()) header["__metadata__"] = file.metadata;
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : file.tensors) {
    const std::uint64_t end = offset + static_cast<std::uint64_t>(tensor.size()) * sizeof(real);
    header[name] = {{"dtype", own_type},
                    {"shape", std::vector<Index>(tensor.shape().begin(), tensor.shape().end())},
                    {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const json::type_error& error) {
    throw DataError(fmt::format("save_tensors: {}: a name or remark is not UTF-8: {}",
                                path.string(), error.what()));
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the values begin at a multiple of 8

  std::vector<std::byte> bytes(length_bytes + text.size() + offset);
  const std::uint64_t length = text.size();
  std::memcpy(bytes.data(), &length, length_bytes);
  std::memcpy(bytes.data() + length_bytes, text.data(), text.size());
  std::byte* out = bytes.data() + length_bytes + text.size();
  for (const auto& [name, tensor] : file.tensors) {
    const std::size_t size = static_cast<std::size_t>(tensor.size()) * sizeof(real);
    if (size > 0) std::memcpy(out, tensor.data(), size);
    out += size;
  }
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
  expect<DataError>(length <= bytes.size() - length_bytes,
                    "load_tensors: {} ends at byte {}, within its header of {} bytes", name,
                    bytes.size(), length);
  expect<DataError>(length <= header_limit,
                    "load_tensors: {} has a header of {} bytes, more than {}", name, length,
                    header_limit);
  const auto* text = reinterpret_cast<const char*>(bytes.data() + length_bytes);
  const auto data = std::span(bytes).subspan(length_bytes + length);
  TensorFile file;
  std::vector<Extent> extents;
  try {
    const json header = json::parse(text, text + length);
    expect(header.is_object(), "the header is no JSON object");
    for (const auto& [key, entry] : header.items()) {
      if (key == "__metadata__") {
        file.metadata = entry.get<std::map<std::string, std::string>>();
        continue;
      }
      file.tensors[key] = read_tensor(name, key, entry, data);
      extents.push_back(extent_of(entry));
    }
  } catch (const json::exception& error) {
    throw DataError(fmt::format("load_tensors: {}: the header is damaged: {}", name, error.what()));
  } catch (const ShapeError& error) {
    throw DataError(fmt::format("load_tensors: {}: {}", name, error.what()));
  }
  expect_contiguous(name, std::move(extents), data.size());
  return file;
}

}  // namespace tapegrad
