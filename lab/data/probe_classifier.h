#pragma once

#include <functional>
#include <vector>

#include "tapegrad/core/indices.h"
#include "tapegrad/core/random.h"
#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// Subtracts from each feature its mean over some examples, and divides by its standard deviation.
/// A feature with one value throughout becomes 0 there.
class Scaler {
 public:
  /// x: (N, D)
  explicit Scaler(const Tensor& x);
  Tensor operator()(const Tensor& x) const;

 private:
  Tensor mean_, deviation_;
};

/// L2-regularized logistic regression: the w and b with the least
///
///     1/2 |w|^2 + C sum_i log(1 + exp(-y_i (<w, x_i> + b)))        y_i = 1 or -1
///
/// by Newton's method, whose steps are found by conjugate gradients (Nocedal and Wright 2006,
/// algorithm 7.1). b is not regularized.
class LogisticRegression {
 public:
  ///   x: (N, D)   labels: (N), 0 or 1   start: where to begin, such as the solution for a smaller
  ///   C; undefined: at 0
  /// Throws ShapeError for shapes that do not fit, ArgumentError for other labels and unless C > 0.
  LogisticRegression(const Tensor& x, const Indices& labels, double c, const Tensor& start = {});

  /// w, and b as the last element: (D + 1)
  const Tensor& solution() const { return solution_; }
  /// The greatest element of the gradient, divided by C N: 0 at the minimum.
  double residual() const { return residual_; }
  /// 1 where <w, x> + b > 0, else 0.
  Indices classify(const Tensor& x) const;

 private:
  Tensor solution_;
  double residual_;
};

/// A part of the examples to be classified, after training on the others.
struct Fold {
  Indices train, test;
};
/// Each of `count` examples is in the test of one fold. Folds have equal sizes, or one example
/// more. Throws ArgumentError unless 2 <= parts <= count.
std::vector<Fold> make_folds(Index count, Index parts, Random random);

/// Divides examples so that a group is in the test of one fold only. Each fold has as many groups,
/// or one group more.
///   groups: (count), the group of each example: 0, 1 ... without a gap
std::vector<Fold> make_folds_of_groups(const Indices& groups, Index parts, Random random);

/// Guesses the labels of the test examples after training on others, all given by their numbers.
using Guess = std::function<Indices(const Indices& train, const Indices& test)>;
/// The guesses for all examples, each by the fold in which it is tested: (count)
Indices cross_validated(const std::vector<Fold>& folds, const Guess& guess);

/// Logistic regression of features that are scaled by the training examples. C is one of 2^-6, 2^-4
/// ... 2^2, the least of those with the greatest accuracy in three folds of the training examples.
///   x: (N, D)   labels: (N), 0 or 1; both must outlive the result
Guess logistic_guess(const Tensor& x, const Indices& labels);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
