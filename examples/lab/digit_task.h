#pragma once

#include "lab/matrix_task.h"
#include "support/image_sets.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// How a `ConvNet` learns to read digits: Xu et al. 2019, section 2.2, with fewer epochs.
struct DigitTaskOptions {
  Index limit = 0;  ///< of training images; 0: all
  Index batch_size = 32;
  Index epochs = 3;
  Index tested = 0;  ///< images of the test and of the validation; 0: all
  double rate = 1e-3;
  double seconds = 60;
};

/// MNIST: a convolutional network tells digits apart. Items are 100 for a right answer, 0 for a
/// wrong one. Throws DataError for images of another size, or in other classes, than those of
/// MNIST.
MatrixTask digit_task(const support::ImageSets& sets, const DigitTaskOptions& options = {});

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
