#pragma once

#include <string>
#include <vector>

#include "tapegrad/io/lines.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// Parallel text in two languages, for training, validation and final tests.
struct TranslationSets {
  struct Test {
    std::string name;
    ParallelLines lines;
  };

  std::string source;  ///< where they come from, for people
  ParallelLines train, validation;
  std::vector<Test> tests;

  /// A text that differs for other pairs to train on or to validate by.
  std::string digest() const;
};

/// Reads train.FROM and train.TO, val.FROM and val.TO, and every test*.FROM with its test*.TO,
/// plain or gzipped, from a directory or its folder multi30k. The name of a test has no further
/// dots. Throws DataError for files that are missing or do not fit.
TranslationSets read_translation_sets(const std::string& directory, const std::string& from,
                                      const std::string& to);

/// Draws a pair of languages. The target is a small grammar's English. The source has other words,
/// one for each, and puts the main verb at the end. No sentence is drawn twice.
TranslationSets draw_translation_sets(std::uint64_t seed);

/// A sentence of the grammar, in the drawn source language.
std::string in_drawn_language(const std::string& sentence);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
