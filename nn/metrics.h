#pragma once

#include <string>
#include <vector>

#include "tapegrad/core/indices.h"
#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A mean of values that arrive one by one.
/// Example: `RunningMean loss; loss.add(0.5, 32); loss.add(0.25, 16); loss.value()`
struct RunningMean {
  double sum = 0;
  Index count = 0;

  void add(double value) { add(value, 1); }
  /// Adds the mean of `values` values, such as the loss of a batch with that many examples.
  void add(double mean, Index values) {
    sum += mean * static_cast<double>(values), count += values;
  }
  /// NaN before the first value.
  double value() const { return sum / static_cast<double>(count); }
};

/// How many guesses equal their labels. Throws ShapeError unless both have the same shape.
/// Example: `count_equal(argmax(logits), labels)`
Index count_equal(const Indices& guesses, const Indices& labels);

/// The share of examples in which the label has the largest logit; with a NaN among its logits,
/// an example is wrong. logits: (..., classes)   labels: (...). Throws ShapeError for other shapes,
/// and if there are no examples.
/// Example: `accuracy(logits, labels)`
double accuracy(const Tensor& logits, const Indices& labels);

/// exp(loss): a language model is on average as uncertain as among that many equally likely tokens.
/// loss: the mean cross entropy, in nats per token
/// Example: `perplexity(cross_entropy(logits, labels).item())`
double perplexity(double loss);

/// What joins a word to the rest of its sentence: the position of its head, and the label of their
/// relation.
/// Example: `const Arc arc{.head = 2, .label = 1}`
struct Arc {
  Index head, label;

  bool operator==(const Arc&) const = default;
};

/// How many words of parsed sentences have the right arc.
/// Example: `AttachmentScore score; score.add({2, 1}, {2, 3}); score.uas()`
struct AttachmentScore {
  Index words = 0;
  Index heads = 0;  ///< words with the right head
  Index arcs = 0;   ///< words with the right head and the right label

  void add(const Arc& right, const Arc& guess);
  // NaN without words.
  double uas() const;  ///< unlabeled attachment score: the share of words with the right head
  double las() const;  ///< labeled attachment score: of those that have the right label, too
};

/// A confusion matrix: how often examples of each class were classified as each class.
/// Example: `Confusion confusion(3); confusion.add(labels, argmax(logits)); confusion.recall(0)`
class Confusion {
 public:
  /// Throws ShapeError for fewer than one class.
  explicit Confusion(Index classes);

  /// labels, guesses: of one shape. Throws ShapeError for others, and for a class out of range;
  /// nothing is counted then.
  void add(const Indices& labels, const Indices& guesses);

  Index classes() const { return classes_; }
  Index count() const;
  /// How many examples of `label` were classified as `guess`. Throws ShapeError for a class out of
  /// range.
  Index at(Index label, Index guess) const;

  // NaN for 0 / 0.
  double accuracy() const;
  double precision(Index label) const;  ///< the share of this class's guesses that is right
  double recall(Index label) const;     ///< the share of this class's examples that is found
  /// 2 precision recall / (precision + recall): 2 right / (guesses + examples)
  double f1(Index label) const;

 private:
  Index classes_;
  std::vector<Index> counts_;  // (label, guess)
};

/// One row for each label and one column for each guess.
std::string to_string(const Confusion& confusion);

}  // namespace tapegrad::TAPEGRAD_SCALAR
