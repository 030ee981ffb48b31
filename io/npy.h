#pragma once

#include <filesystem>

#include "tapegrad/core/indices.h"
#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

// Arrays in NumPy's format, versions 1 to 3, C order, of either byte order, plain or
// gzipped
// (numpy.org/doc/stable/reference/generated/numpy.lib.format.html). Readers throw DataError, naming
// file and byte, for files that are missing, damaged or of an unsupported type.

/// Reads numbers of type f2, f4, f8, i1 to i8, u1 to u8 or bool, and rounds them to `real`;
/// numbers beyond its range become infinite.
/// Example: `read_npy("x.npy")`
Tensor read_npy(const std::filesystem::path& path);
/// Reads whole numbers of type i1 to i8, u1 to u8 or bool; throws DataError for 2^63 and beyond.
/// Example: `read_npy_indices("labels.npy")`
Indices read_npy_indices(const std::filesystem::path& path);

/// Writes x with the type of `real` (f4 or f8), atomically. Both throw DataError on failure, and
/// ShapeError for an undefined x.
/// Example: `write_npy("probabilities.npy", softmax(logits))`
void write_npy(const std::filesystem::path& path, const Tensor& x);
/// Writes x as i8.
void write_npy(const std::filesystem::path& path, const Indices& x);

}  // namespace tapegrad::TAPEGRAD_SCALAR
