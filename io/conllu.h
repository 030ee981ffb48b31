#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tapegrad/core/shape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A word of a sentence, and its place in the tree of dependencies. A field without a value is "_".
/// Example: `DependencyWord{.form = "dogs", .xpos = "NNS", .head = 2, .relation = "nsubj"}`
struct DependencyWord {
  std::string form = "_";      ///< as it is written
  std::string upos = "_";      ///< its universal part of speech, such as "NOUN"
  std::string xpos = "_";      ///< the tag of its language or treebank, such as "NNS"
  Index head = 0;              ///< the word that it depends on, counted from 1; 0: it is the root
  std::string relation = "_";  ///< to its head, such as "nsubj" or "nsubj:pass"
  Index line = 0;              ///< of the file; 0: of none
};

/// The words of a sentence, in order.
/// Example: `const DependencyTree tree{{.form = "dogs", .head = 2}, {.form = "run"}}`
using DependencyTree = std::vector<DependencyWord>;

/// Example: `const ConlluOptions options{.trees = false}`
struct ConlluOptions {
  bool trees = true;  ///< false: HEAD and DEPREL are not read, and the words have none
};

/// Reads a file of sentences in CoNLL-U, plain or gzipped (universaldependencies.org/format.html):
/// one word per line, in ten fields separated by tabs, and a blank line after each sentence.
/// Comments, ranges of words (1-2) and empty nodes (1.1) are skipped. Lines end with \n or \r\n.
/// Bytes are kept as they are. Throws DataError, naming file and line, for a line that is cut or
/// has other than ten fields, for an empty field, a number out of order and a last sentence without
/// its blank line, which a cut file has. It also throws for heads that do not form a tree: a head
/// out of range, a cycle or a second root, and for a root whose relation is not "root", or "root"
/// and a subtype, and another word that has this relation.
/// Example: `const std::vector<DependencyTree> trees = read_conllu("treebank.conllu")`
std::vector<DependencyTree> read_conllu(const std::filesystem::path& path,
                                        const ConlluOptions& options = {});

/// The relation without its subtype: "nsubj" of "nsubj:pass".
/// Example: `universal_relation("nsubj:pass")`
std::string universal_relation(const std::string& relation);

/// Whether no arcs cross that are drawn above the sentence: between a word and those that depend on
/// it, directly or not, there are no others. Throws ArgumentError for heads that are out of range
/// or lead back to their words.
/// Example: `is_projective({{.head = 2}, {.head = 0}})`
bool is_projective(const DependencyTree& tree);

}  // namespace tapegrad::TAPEGRAD_SCALAR
