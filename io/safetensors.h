#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "tapegrad/core/indices.h"
#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Named tensors and metadata, the content of a file in the safetensors format, which other
/// frameworks read (huggingface.co/docs/safetensors).
/// Example: `const TensorFile file{.tensors = {{"x", x}}, .metadata = {{"made by", "a program"}}}`
struct TensorFile {
  std::map<std::string, Tensor> tensors = {};  ///< of floating-point types
  std::map<std::string, std::string> metadata = {};
  std::map<std::string, Indices> indices = {};     ///< of integer and boolean types
  std::map<std::string, std::string> unread = {};  ///< why `load_tensors` could not read a tensor
};

/// Writes tensors as `real` and indices as I64, atomically. The bytes depend on the content alone.
/// The metadata "tapegrad.checksum" holds a checksum of all tensors. Throws DataError if the file
/// cannot be written, for a name that is used twice or reserved ("__metadata__", the checksum), and
/// for unread tensors.
/// Example: `save_tensors("x.safetensors", {.tensors = {{"x", x}}, .indices = {{"ids", ids}}})`
void save_tensors(const std::filesystem::path& path, const TensorFile& file);

/// Reads a file. Floating-point types (F64, F32, F16, BF16, F8_E5M2, F8_E4M3, F8_E8M0) are
/// converted to `real`; integers and BOOL are exact. A tensor of another type, or with a value that
/// does not fit, goes to `unread`; the others are still read. Throws DataError, naming file and
/// tensor or byte, for files that are missing or damaged. Verifies the checksum of `save_tensors`,
/// if there is one, and leaves it out of `metadata`.
/// Example: `load_tensors("mlp.safetensors").tensors.size()`
TensorFile load_tensors(const std::filesystem::path& path);

}  // namespace tapegrad::TAPEGRAD_SCALAR
