#pragma once

#include <string>
#include <vector>

#include "tapegrad/io/sentences.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// Labelled sentences for training, validation and the final test.
struct SentenceSets {
  std::string source;  ///< where they come from, for people
  std::vector<Sentence> train, validation, test;
  Index classes;

  /// A text that differs for other sentences or labels for training or validation.
  std::string digest() const;
  /// A text that differs for another test set.
  std::string test_digest() const;
};

/// Reads a task from a directory that holds its files, or a folder with them:
///   rt     sentence-classification/rt-polarity.all[.gz], or without it the files of Pang and Lee,
///   rt-polaritydata/rt-polarity.{neg,pos}[.gz], split at random as in Xu et al. 2019
///   sst5   sst5/stsa.fine.{train,dev,test}[.gz]
///   trec   sentence-classification/TREC.{train,test}.all[.gz], a tenth of the training set for
///   validation
/// Throws DataError, naming the file, for one that is missing or damaged, and naming the line for a
/// sentence of more than `most_words` words.
SentenceSets read_sentence_sets(const std::string& task, const std::string& directory,
                                Index most_words);

/// Splits RT in the same way with another seed than 1. Throws what `read_sentence_sets` throws.
SentenceSets read_rt(const std::string& directory, Index most_words, std::uint64_t seed);

/// Draws sentences of a small grammar. In half of them, class 1, one verb does not agree with its
/// subject.
SentenceSets draw_sentence_sets(std::uint64_t seed);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
