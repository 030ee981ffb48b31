#pragma once

// Arrays in NumPy's format as bytes: of a file, or of a member of an archive.

#include <cstddef>
#include <span>
#include <string>

#include "tapegrad/core/indices.h"
#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The array of numbers in `bytes`, rounded to `real`. Both throw DataError, naming `file` and
/// byte, for bytes that are damaged or of an unsupported type.
Tensor npy_tensor(std::span<const std::byte> bytes, const std::string& file);
/// The array of whole numbers in `bytes`.
Indices npy_indices(std::span<const std::byte> bytes, const std::string& file);

/// What precedes the values of x in a file: its type, f4 or f8, and its shape.
std::string npy_header(const Tensor& x);
/// What precedes values of type i8.
std::string npy_header(const Indices& x);

}  // namespace tapegrad::TAPEGRAD_SCALAR
