#pragma once

#include <string>

#include "tapegrad/io/conllu.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// Sentences with trees of dependencies, in three parts.
struct Treebank {
  std::string source;  ///< shown to the user
  std::vector<DependencyTree> train, validation, test;

  /// Differs for other data.
  std::string digest() const;
};

/// Reads sentences in CoNLL-U, and replaces bytes that are not valid UTF-8 and control characters.
/// Throws DataError for files that `read_conllu` refuses, and, naming file and line, for a word
/// without XPOS, the tag that a parser reads.
std::vector<DependencyTree> read_tagged(const std::string& file, const ConlluOptions& options = {});

/// Reads a treebank of Universal Dependencies: its three files NAME-ud-train.conllu, -dev and
/// -test, plain or gzipped, in a directory or in ud-english-ewt/ of it. Throws DataError unless
/// there is one of each, and for what `read_tagged` refuses.
Treebank read_treebank(const std::string& directory);

/// A treebank of sentences of a small grammar, with the trees that the grammar gives them.
Treebank draw_treebank(std::uint64_t seed);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
