#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/probe_sets.h"
#include "tapegrad/core/tensor.h"
#include "tapegrad/zoo/skip_thoughts.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// The vectors of sentences, in their order: (N, D)
using SentenceEncoder = std::function<Tensor(const std::vector<Words>& sentences)>;

/// How well scores of relatedness are guessed.
struct Relatedness {
  Tensor guesses;  ///< of the test pairs: (N)
  double pearson, spearman, mean_squared_error;

  Relatedness(const Tensor& guessed, const std::vector<SentencePair>& pairs);
};

/// How well classes are guessed, each by the fold in which its sentence is tested.
struct Classification {
  std::string name;  ///< of the `ClassifiedSentences`
  std::vector<bool> right;

  double accuracy() const;  ///< a share
};

/// What probes find. Baselines for one kind of probe lack the other.
struct ProbeResults {
  std::string system;  ///< for people
  std::optional<Relatedness> relatedness = {};
  std::vector<Classification> classified = {};
};

/// A distribution over the scores 1 to 5 whose mean is `score`: all on it, or on both whole numbers
/// around it (Tai et al. 2015, eq. 15).
std::vector<double> soft_label(double score);

/// A softmax over the scores 1 to 5 of |u - v| and u * v, for the vectors u and v of a pair, scaled
/// by the pairs to train on. Adam stops when Pearson's correlation on the validation pairs has not
/// risen for five epochs.
Relatedness probe_relatedness(const ProbeSets& sets, const SentenceEncoder& encode);
/// Whether sentences that are equal may be in different folds, as published, or are all in one, so
/// that none is tested after training on a copy of it.
enum class Copies { apart, together };

/// Logistic regression of the vectors in ten folds: the same for all encoders.
Classification probe_classes(const ClassifiedSentences& set, const SentenceEncoder& encode,
                             Copies copies = Copies::apart);
/// Both kinds of probes for all sets.
ProbeResults probe(const std::string& system, const ProbeSets& sets, const SentenceEncoder& encode);

/// The mean of the vectors that the net has for the words of a sentence; 0 without words.
SentenceEncoder mean_of_words(const SkipThoughts& net, const Vocabulary& vocabulary);

/// The most frequent label, and the mean score.
ProbeResults majority_baseline(const ProbeSets& sets);
/// Naive Bayes in the same folds, by all words, or only by the words of a vocabulary: all that a
/// net with these words could see.
ProbeResults naive_bayes_baseline(const ProbeSets& sets, const Vocabulary* vocabulary = nullptr);
/// A linear function of the share of words that both sentences have, of all that one has.
ProbeResults overlap_baseline(const ProbeSets& sets);

/// The results as lines of a table for people, below its heading.
std::string probe_heading(const ProbeSets& sets);
std::string probe_line(const ProbeResults& results);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
