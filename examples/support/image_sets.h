#pragma once

#include <string>
#include <vector>

#include "tapegrad/nn/data/idx.h"
#include "tapegrad/nn/layers/layer.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// Labelled images for training, for choosing between trainings and for the final test.
struct ImageSets {
  std::string source;  ///< where they come from, for people
  ImageSet train, validation, test;
  Index classes;

  /// A text that differs for other images or labels to train on or to choose by.
  std::string digest() const;
  /// The same of the test.
  std::string test_digest() const;
};

/// Reads the four files of MNIST, or of a set in its format, from a directory. The last twelfth of
/// the training images is held out for validation. Throws DataError.
ImageSets read_image_sets(const std::string& directory);

/// Draws digits: 11,000 to train on, 1,000 for validation and 2,000 for the test.
ImageSets draw_image_sets(std::uint64_t seed);

/// The first images of a set; all for a count of 0.
ImageSet first_images(const ImageSet& set, Index count);

/// 1 for each image that a network for them names wrongly, 0 for the others.
std::vector<double> misclassified(const Layer& net, const ImageSet& set);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
