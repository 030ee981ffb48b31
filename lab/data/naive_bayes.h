#pragma once

#include <map>
#include <string>
#include <vector>

#include "tapegrad/io/sentences.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// The multinomial naive Bayes classifier of sentences by their words, with add-one smoothing
/// (Manning, Raghavan and Schuetze 2008, section 13.2). It ignores words that it has not seen.
class NaiveBayes {
 public:
  /// Throws ArgumentError unless the labels are below `classes`.
  NaiveBayes(const std::vector<Sentence>& sentences, Index classes);

  /// The logarithm of the probability of each class, up to a constant; -infinity for a class
  /// without sentences.
  std::vector<double> scores(const Sentence& sentence) const;
  /// The most probable class, of equal ones the first.
  Index classify(const Sentence& sentence) const;

 private:
  std::vector<double> priors_;                         // logarithms
  std::vector<double> words_;                          // in the sentences of a class
  std::map<std::string, std::vector<double>> counts_;  // of a word, by class
};

/// The most frequent label, of equal ones the first. Throws ArgumentError for no sentences.
Index majority(const std::vector<Sentence>& sentences);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
