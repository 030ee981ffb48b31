#pragma once

#include <string>
#include <vector>

#include "tapegrad/io/idx.h"
#include "tapegrad/nn/layers/layer.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// Labelled images for training, validation and the final test.
struct ImageSets {
  std::string source;  ///< where they come from, for people
  ImageSet train, validation, test;
  Index classes;

  /// A text that differs for other training or validation images or labels.
  std::string digest() const;
  /// A text that differs for another test set.
  std::string test_digest() const;
};

/// Reads the four files of MNIST, or of a set in its format, from a directory or its folder mnist.
/// The last twelfth of the training images is held out for validation. Throws DataError.
ImageSets read_image_sets(const std::string& directory);

/// Draws digits: 11,000 for training, 1,000 for validation and 2,000 for the test.
ImageSets draw_image_sets(std::uint64_t seed);

/// Reads binarized MNIST from the IDX files train-, valid- and test-images-idx3-ubyte, plain or
/// with .gz, in a directory or in its folder mnist-binarized. Its images have no labels. Throws
/// DataError, also for pixels other than 0 and 255.
ImageSets read_binary_image_sets(const std::string& directory);

/// Draws the digits of `draw_image_sets` with each pixel black or white, 0 or 255.
ImageSets draw_binary_image_sets(std::uint64_t seed);

/// The first images of a set; all for a count of 0.
ImageSet first_images(const ImageSet& set, Index count);

double mean_cross_entropy(const Layer& net, const ImageSet& set);

/// 1 for each image that the net misclassifies, 0 for the others.
std::vector<double> misclassified(const Layer& net, const ImageSet& set);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
