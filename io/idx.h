#pragma once

#include <filesystem>
#include <vector>

#include "tapegrad/core/indices.h"
#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Images and their labels.
/// Example: `const Batch batch = read_idx("images.idx", "labels.idx").batch(std::vector<Index>{0})`
struct Batch {
  Tensor images;   ///< (N, 1, H, W) in [0, 1]
  Indices labels;  ///< (N)
};

/// Greyscale images as bytes, and their labels: MNIST or any set in its format.
/// Example: `const ImageSet set = read_idx("images.idx", "labels.idx"); set.count()`
struct ImageSet {
  Index height = 0, width = 0;
  std::vector<std::uint8_t> pixels;  ///< (count, height, width)
  std::vector<std::uint8_t> labels;  ///< (count)

  Index count() const { return static_cast<Index>(labels.size()); }
  /// The chosen images, of shape (N, 1, height, width), scaled to [0, 1]. All three throw
  /// ShapeError for positions out of range.
  Tensor images(std::span<const Index> chosen) const;
  /// Their labels, of shape (N).
  Indices labels_of(std::span<const Index> chosen) const;
  Batch batch(std::span<const Index> chosen) const { return {images(chosen), labels_of(chosen)}; }
};

/// Reads an IDX file of images and one of labels, plain or gzipped (yann.lecun.com/exdb/mnist).
/// Throws DataError, naming file and byte, for files that are missing, damaged, of another format,
/// or do not belong together.
/// Example: `read_idx("images.idx", "labels.idx").count()`
ImageSet read_idx(const std::filesystem::path& images, const std::filesystem::path& labels);

/// Reads an IDX file of images alone; each gets the label 0. Throws as above.
/// Example: `read_idx("images.idx").count()`
ImageSet read_idx(const std::filesystem::path& images);

/// The training and test set in a folder with MNIST's four files under their usual names, with or
/// without .gz.
/// Example: `const TrainAndTest mnist = read_mnist("mnist")`
struct TrainAndTest {
  ImageSet train, test;
};
/// Example: `const auto [train, test] = read_mnist("mnist")`
TrainAndTest read_mnist(const std::filesystem::path& folder);

}  // namespace tapegrad::TAPEGRAD_SCALAR
