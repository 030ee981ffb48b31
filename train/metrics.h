#pragma once

#include <string>
#include <vector>

#include "tapegrad/core/indices.h"
#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A mean of values that come one by one.
struct RunningMean {
  double sum = 0;
  Index count = 0;

  void add(double value) { add(value, 1); }
  /// A mean of `values` values, such as the loss of a batch of that many examples.
  void add(double mean, Index values) {
    sum += mean * static_cast<double>(values), count += values;
  }
  /// NaN before the first value.
  double value() const { return sum / static_cast<double>(count); }
};

/// How many of the guesses are the labels. Both of one shape; throws ShapeError for others.
Index count_equal(const Indices& guesses, const Indices& labels);

/// The share of examples whose largest logit is that of their label. logits: (..., classes)
/// labels: (...). Throws ShapeError for others, and for no examples.
double accuracy(const Tensor& logits, const Indices& labels);

/// exp(loss): of how many equally likely tokens a language model is as unsure as it is in the mean.
/// loss: the mean cross entropy, in nats a token
double perplexity(double loss);

/// How often examples of each class were taken for each other.
class Confusion {
 public:
  /// Throws ShapeError for fewer than one class.
  explicit Confusion(Index classes);

  /// labels, guesses: of one shape. Throws ShapeError for others, and for a class that there is
  /// not; nothing is counted then.
  void add(const Indices& labels, const Indices& guesses);

  Index classes() const { return classes_; }
  Index count() const;
  /// How many examples of `label` were taken for `guess`. Throws ShapeError for a class that there
  /// is not.
  Index at(Index label, Index guess) const;

  // NaN where it would be 0 / 0.
  double accuracy() const;
  double precision(Index label) const;  ///< of the guesses of this class, the share that is right
  double recall(Index label) const;     ///< of the examples of this class, the share that is found
  /// 2 precision recall / (precision + recall): 2 right / (guesses + examples)
  double f1(Index label) const;

 private:
  Index classes_;
  std::vector<Index> counts_;  // (label, guess)
};

/// A row for each label and a column for each guess.
std::string to_string(const Confusion& confusion);

}  // namespace tapegrad::TAPEGRAD_SCALAR
