#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "tapegrad/core/tensor.h"

namespace tapegrad {

/// Named tensors and remarks, as in a file of the safetensors format, which other frameworks read
/// (huggingface.co/docs/safetensors).
struct TensorFile {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Writes a file whole or not at all. Its bytes depend on the contents alone. Throws DataError when
/// it cannot be written.
void save_tensors(const std::filesystem::path& path, const TensorFile& file);

/// Reads tensors of type F32 or F64, converted to `real`. Throws DataError, naming file and tensor
/// or byte, for files that are missing, damaged or hold other types.
TensorFile load_tensors(const std::filesystem::path& path);

}  // namespace tapegrad
