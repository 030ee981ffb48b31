#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "tapegrad/core/indices.h"
#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Named tensors and remarks, as in a file of the safetensors format, which other frameworks read
/// (huggingface.co/docs/safetensors).
struct TensorFile {
  std::map<std::string, Tensor> tensors = {};  ///< of floating-point types
  std::map<std::string, std::string> metadata = {};
  std::map<std::string, Indices> indices = {};     ///< of integer and boolean types
  std::map<std::string, std::string> unread = {};  ///< why `load_tensors` could not read a tensor
};

/// Writes tensors as `real` and indices as I64, whole or not at all. The bytes depend on the
/// contents alone. A checksum of all tensors is written as the remark "tapegrad.checksum". Throws
/// DataError when the file cannot be written, for a name that is given twice or means something
/// else ("__metadata__", the remark), and for unread tensors.
void save_tensors(const std::filesystem::path& path, const TensorFile& file);

/// Reads a file. Floating-point types (F64, F32, F16, BF16, F8_E5M2, F8_E4M3, F8_E8M0) are
/// converted to `real`; integers and BOOL are exact. A tensor of another type, or with a value that
/// does not fit, is among `unread`: it does not keep the others from being read. Throws DataError,
/// naming file and tensor or byte, for files that are missing or damaged. If the file has the
/// checksum of `save_tensors`, it is checked and is not among `metadata`.
TensorFile load_tensors(const std::filesystem::path& path);

}  // namespace tapegrad::TAPEGRAD_SCALAR
