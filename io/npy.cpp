#include "tapegrad/io/npy.h"

#include "tapegrad/io/file.h"
#include "tapegrad/io/internal/npy_array.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

template <class Array>
void write(const std::filesystem::path& path, const Array& x) {
  expect_defined("write_npy", x);
  const std::string header = npy_header(x);
  const std::span<const std::byte> parts[] = {std::as_bytes(std::span(header)),
                                              std::as_bytes(x.values())};
  write_file(path, parts);
}

}  // namespace

Tensor read_npy(const std::filesystem::path& path) {
  return npy_tensor(read_file(path).bytes(), path.string());
}

Indices read_npy_indices(const std::filesystem::path& path) {
  return npy_indices(read_file(path).bytes(), path.string());
}

void write_npy(const std::filesystem::path& path, const Tensor& x) { write(path, x); }

void write_npy(const std::filesystem::path& path, const Indices& x) { write(path, x); }

}  // namespace tapegrad::TAPEGRAD_SCALAR
