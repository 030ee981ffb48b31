#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "tapegrad/core/indices.h"
#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

// Archives of named arrays, as numpy.savez and numpy.savez_compressed write them: zip files whose
// members are arrays in the format of io/npy.h. An array x is the member x.npy. Readers throw
// DataError, naming file and member, for files that are missing, damaged or of an unsupported kind,
// and for files that unpack to more than 256 MiB and more than 100 times their size.

/// Reads all arrays, each as read_npy does: whole numbers too become `real`.
/// Example: `read_npz("data.npz").size()`
std::map<std::string, Tensor> read_npz(const std::filesystem::path& path);
/// Reads the array of this name. Throws DataError if there is none.
/// Example: `read_npz("data.npz", "x")`
Tensor read_npz(const std::filesystem::path& path, const std::string& name);
/// Reads the array of this name as read_npy_indices does. Throws DataError if there is none.
/// Example: `read_npz_indices("data.npz", "labels")`
Indices read_npz_indices(const std::filesystem::path& path, const std::string& name);

/// Writes tensors with the type of `real` and indices as i8, not compressed, atomically. Names are
/// UTF-8. The bytes depend on the arrays alone. Throws ShapeError for an undefined array, and
/// DataError on failure, for a name that is used twice, and for a name that has a NUL or more than
/// 65,531 bytes.
/// Example: `write_npz("results.npz", {{"x", x}, {"logits", logits}}, {{"labels", labels}})`
void write_npz(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors,
               const std::map<std::string, Indices>& indices = {});

}  // namespace tapegrad::TAPEGRAD_SCALAR
