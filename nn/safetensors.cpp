#include "tapegrad/nn/safetensors.h"

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tapegrad/core/error.h"
#include "tapegrad/nn/data/file.h"

namespace tapegrad {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

constexpr std::size_t length_bytes = 8;
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

Tensor read_tensor(const std::string& file, const std::string& name, const json& entry,
                   std::span<const std::byte> data) {
  const auto type = entry.at("dtype").get<std::string>();
  expect<DataError>(type == "F32" || type == "F64",
                    "load_tensors: {}: tensor {} is of type {}; F32 and F64 are read", file, name,
                    type);
  const auto extents = entry.at("shape").get<std::vector<Index>>();
  const Shape shape(extents);
  const auto offsets = entry.at("data_offsets").get<std::array<std::uint64_t, 2>>();
  const std::uint64_t bytes = static_cast<std::uint64_t>(shape.size()) * (type == "F32" ? 4 : 8);
  expect<DataError>(
      offsets[0] <= offsets[1] && offsets[1] <= data.size() && offsets[1] - offsets[0] == bytes,
      "load_tensors: {}: tensor {} of shape {} does not fit bytes {} to {} of {}", file, name,
      shape, offsets[0], offsets[1], data.size());
  const std::byte* begin = data.data() + offsets[0];
  return type == "F32" ? converted<float>(shape, begin) : converted<double>(shape, begin);
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
  std::string text = header.dump();
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
  const auto* text = reinterpret_cast<const char*>(bytes.data() + length_bytes);
  const auto data = std::span(bytes).subspan(length_bytes + length);
  TensorFile file;
  std::uint64_t used = 0;
  try {
    const json header = json::parse(text, text + length);
    for (const auto& [key, entry] : header.items()) {
      if (key == "__metadata__") {
        file.metadata = entry.get<std::map<std::string, std::string>>();
        continue;
      }
      file.tensors[key] = read_tensor(name, key, entry, data);
      const auto offsets = entry.at("data_offsets").get<std::array<std::uint64_t, 2>>();
      used += offsets[1] - offsets[0];
    }
  } catch (const json::exception& error) {
    throw DataError(fmt::format("load_tensors: {}: the header is damaged: {}", name, error.what()));
  } catch (const ShapeError& error) {
    throw DataError(fmt::format("load_tensors: {}: {}", name, error.what()));
  }
  expect<DataError>(used == data.size(),
                    "load_tensors: {}: the tensors take {} bytes of the {} after the header", name,
                    used, data.size());
  return file;
}

}  // namespace tapegrad
