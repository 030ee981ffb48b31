#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tapegrad/nn/layers/embedding.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// That `specific` is a kind of `general`, each a number of a concept: a dog is an animal.
struct Hypernym {
  Index general, specific;

  auto operator<=>(const Hypernym&) const = default;
};
using Hypernyms = std::vector<Hypernym>;

/// Concepts, and what each is directly a kind of.
struct Hierarchy {
  std::string source;  ///< where it comes from, for people
  std::vector<std::string> names;
  Hypernyms direct;

  /// A text that differs for other names or pairs.
  std::string digest() const;
};

/// Reads concepts, one on each line: its number, from 0 on, a tab and its name. Throws DataError,
/// naming file and line, for lines of another form and numbers out of order.
std::vector<std::string> read_concepts(const std::filesystem::path& path);
/// Reads pairs of concepts, below `count`, one on each line: the number of the general one, a tab
/// and the number of the specific one. Throws DataError, naming file and line, for lines of another
/// form, numbers out of range and pairs of a concept with itself, and for a file without pairs.
Hypernyms read_hypernyms(const std::filesystem::path& path, Index count);

/// Reads the nouns of WordNet from noun_closure.tsv.vocab and noun_closure.tsv.train_0percent,
/// plain or gzipped, in a directory or its folder wordnet-hypernyms. The root, entity.n.01, which
/// the files leave out, is added above all concepts without a hypernym. Throws DataError as
/// `read_concepts` and `read_hypernyms` do.
Hierarchy read_wordnet_nouns(const std::string& directory);

/// Draws a tree of 2,000 concepts below a root: each is a kind of one drawn before it.
Hierarchy draw_hierarchy(std::uint64_t seed);

/// All that follows from pairs: their transitive closure, in order, without repetitions. Throws
/// DataError if a concept is a kind of itself, and if there are more than 10 million pairs.
///   count: of the concepts, which are numbered from 0
Hypernyms closure(Index count, const Hypernyms& pairs);

/// Pairs that hold, and as many that were made of them by replacing one end at random. Of these, a
/// few hold, too.
struct HypernymExamples {
  Hypernyms positive, negative;
};

/// All pairs of a hierarchy in three parts: 4,000 each for validation and test, or a tenth of all
/// if they are fewer, drawn at random.
struct HypernymSets {
  Hypernyms train;
  HypernymExamples validation, test;
  double false_negatives;  ///< the share of the test's negatives that hold

  HypernymSets(const Hierarchy& hierarchy, std::uint64_t seed);
};

/// These pairs, each with one end replaced by a random concept of `count`.
Hypernyms corrupted(const Hypernyms& pairs, Index count, Random& random);

/// How far pairs are from the order of their concepts' points: E(u, v) = |max(0, v - u)|^2 for "u
/// is a v" (Vendrov et al. 2016, eq. 2). General concepts lie near the origin.
Tensor violations(const Embedding& net, std::span<const Hypernym> pairs);

/// How many of the test's pairs are classified right by a rule that learns nothing: what follows
/// from the pairs for training and validation holds. A share.
double closure_accuracy(const HypernymSets& sets, Index count);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
