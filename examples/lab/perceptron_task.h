#pragma once

#include "lab/matrix_task.h"
#include "support/image_sets.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// How a perceptron learns to read digits: Ba et al. 2016, section 6.6.
struct PerceptronTaskOptions {
  Index batch_size = 128;  ///< 128 or 4
  Index limit = 0;         ///< of training images; 0: all
  Index images = 327680;   ///< to train on, each several times: six epochs of MNIST, about
  Index points = 20;       ///< of curves; divides the steps
  Index tested = 0;        ///< images of the test and of the validation; 0: all
  double rate = 1e-3;
  double seconds = 41;

  Index steps() const { return images / batch_size; }
};

/// The net 784-1000-1000-10 of a system. `linear_softmax` has no hidden layers.
Layer make_perceptron(const std::string& system, Random& random);

/// MNIST: a net 784-1000-1000-10 does not know which pixels are neighbours. Its systems normalize
/// both hidden layers, but `batch` the logits, too, as in the paper; `batch_hidden` does not, and
/// `batch_biased` is `batch` with the biased variance. Values: "test", the
/// error in percent; the trace "test_error". Items are 100 for a wrong answer, 0 for a right one.
/// Throws DataError for images of another size, or in other classes, than those of MNIST.
MatrixTask perceptron_task(const support::ImageSets& sets,
                           const PerceptronTaskOptions& options = {});

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
