#pragma once

#include <string>

#include "tapegrad/nn/data/idx.h"
#include "tapegrad/nn/layer.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// Labelled images for training, for choosing between trainings and for the final test.
struct ImageSets {
  std::string source;  ///< where they come from, for people
  ImageSet train, validation, test;
  Index classes;

  /// A text that differs for other images or labels.
  std::string digest() const;
};

/// Reads the four files of MNIST, or of a set in its format, from a directory. The last twelfth of
/// the training images is held out for validation. Throws DataError.
ImageSets read_image_sets(const std::string& directory);

/// Draws digits: 11,000 to train on, 1,000 for validation and 2,000 for the test.
ImageSets draw_image_sets(std::uint64_t seed);

/// The share of images that a network for them names wrongly, in percent.
double error_percent(const Layer& net, const ImageSet& set);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
