#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/books.h"
#include "tapegrad/io/sentences.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// Two sentences, and how related people found what they mean: from 1, not at all, to 5.
struct SentencePair {
  Words first, second;
  double score;
};

/// Labelled sentences of two classes.
struct ClassifiedSentences {
  std::string name;
  std::vector<Sentence> sentences;
};

/// What vectors of sentences are judged by (Kiros et al. 2015, section 3; Ba et al. 2016, table 3).
struct ProbeSets {
  std::vector<SentencePair> train, validation, test;  ///< SICK
  std::vector<ClassifiedSentences> classified;        ///< MR, CR, SUBJ and MPQA

  /// A text that differs for other sentences, scores or labels.
  std::string digest() const;
};

/// Reads pairs in the format of SICK (Marelli et al. 2014): a line that names five columns, then on
/// each line, separated by tabs, a number, two sentences, their score and a label. The sentences
/// are plain text, taken apart by `words_of_sentence`.
/// Throws DataError, naming file and line, for lines of another form and scores outside of [1, 5].
std::vector<SentencePair> read_pairs(const std::filesystem::path& path);

/// Reads SICK_{train,trial,test_annotated}.txt from a directory or its folder sick, and
/// rt-polarity.all, custrev.all, subj.all and mpqa.all from it or its folder
/// sentence-classification; all plain or gzipped. A label without words is an empty sentence.
/// Throws DataError as `read_pairs` and `read_sentences` do, and for labels other than 0 and 1.
ProbeSets read_probe_sets(const std::string& directory);

/// Small sets of sentences of drawn stories, under the same names. Pairs are related if both have
/// equally many words; each classification asks whether a certain word is there.
ProbeSets draw_probe_sets(std::uint64_t seed);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
