#pragma once

#include "problems/problem.h"
#include "support/image_sets.h"

/// Handwritten digits, which nets classify: a convolutional one, as in Xu et al. 2019, section
/// 2.2, or a perceptron, which does not know which pixels are neighbours, as in Ba et al. 2016,
/// section 6.6.
namespace tapegrad::TAPEGRAD_SCALAR::problems {

/// Images of MNIST, or drawn ones.
support::ImageSets image_sets(const Origin& origin);

/// The sizes of the task with a `ConvNet`: fewer epochs than in the paper.
struct ConvSizes {
  Index limit = 0;  ///< of training images; 0: all
  Index batch_size = 32;
  Index epochs = 3;
  Index tested = 0;  ///< images of the test and of the validation; 0: all
  double rate = 1e-3;
  double seconds = 60;
};

/// A convolutional network. Items are 100 for a right answer, 0 for a wrong one. Throws DataError
/// for images of another size, or in other classes, than MNIST's.
Problem conv_problem(const support::ImageSets& sets, const ConvSizes& sizes = {});
Problem conv_problem(const Origin& origin, Size size);

/// The sizes of the tasks with a perceptron.
struct PerceptronSizes {
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

/// A net 784-1000-1000-10. Its systems normalize both hidden layers, but `batch` the logits, too,
/// as in the paper; `batch_hidden` does not, and `batch_biased` is `batch` with the biased
/// variance. Values: "test", the error in percent; the trace "test_error". Items are 100 for a
/// wrong answer, 0 for a right one. Throws what `conv_problem` throws.
Problem perceptron_problem(const support::ImageSets& sets, const PerceptronSizes& sizes = {});
Problem perceptron_problem(Index batch_size, const Origin& origin, Size size);

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
