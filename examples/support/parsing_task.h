#pragma once

#include <span>
#include <string>
#include <vector>

#include "support/transitions.h"
#include "support/treebank.h"
#include "tapegrad/cluster/cluster.h"
#include "tapegrad/nn/data/examples.h"
#include "tapegrad/nn/data/sentences.h"
#include "tapegrad/zoo/parser.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// 18 words, their tags, and the labels of the arcs to the last 12 of them.
constexpr Index feature_count = 48;

/// A sentence as a parser sees it. Labels that are not known are -1.
struct NumberedSentence {
  std::vector<Index> words, tags;  ///< ids by token, those of the root first
  std::vector<Arc> arcs;           ///< to each word
  std::vector<bool> punctuation;   ///< whether the word is UPOS PUNCT
};

/// Numbers what a parser reads. Words, tags and labels have ids of their own, so that one table
/// embeds them; where there is none, an id stands for that.
class ParserVocabulary {
 public:
  /// Words of the trees that occur twice or more, in lower case (of ASCII; other letters stay), and
  /// all tags and relations without their subtypes.
  explicit ParserVocabulary(const std::vector<DependencyTree>& trees);
  /// Those lists: `words()`, `tags()` and `relations()` of another. Throws DataError for a word
  /// that is there twice, and if the first relation is not "root".
  ParserVocabulary(std::vector<std::string> words, std::vector<std::string> tags,
                   std::vector<std::string> relations);

  const std::vector<std::string>& words() const { return words_.words(); }
  const std::vector<std::string>& tags() const { return tags_.words(); }
  const std::vector<std::string>& relations() const { return relations_.words(); }
  /// The relation of each label.
  const std::string& relation(Index label) const {
    return relations()[static_cast<std::size_t>(label)];
  }
  /// The number of all ids.
  Index ids() const { return first_label() + relations_.count(); }
  TransitionClasses classes() const { return {static_cast<Index>(relations().size())}; }

  NumberedSentence numbered(const DependencyTree& tree) const;
  /// Writes the ids of the features of a configuration to `row`.
  void features(const Configuration& configuration, const NumberedSentence& sentence,
                std::span<Index> row) const;

 private:
  // Tokens have one id more than their Vocabulary: that of the root.
  Index first_tag() const { return words_.count() + 1; }
  Index first_label() const { return first_tag() + tags_.count() + 1; }

  Vocabulary words_, tags_, relations_;
};

/// Configurations and the transitions to take in them.
///   features: (N, 48)   transitions: (N)
using OracleExamples = Examples<Indices, Indices>;

/// All configurations that the oracle passes through, sentence by sentence. Leaves out sentences
/// whose trees are not projective or have an unknown relation. Throws DataError if none is left.
OracleExamples oracle_examples(const ParserVocabulary& vocabulary,
                               const std::vector<DependencyTree>& trees);

std::vector<NumberedSentence> numbered(const ParserVocabulary& vocabulary,
                                       const std::vector<DependencyTree>& trees);

/// The arcs to the words of each sentence. All sentences advance side by side, each by the legal
/// transition with the greatest logit (greedy decoding).
std::vector<std::vector<Arc>> parse(const TransitionParser& net, const ParserVocabulary& vocabulary,
                                    std::span<const NumberedSentence> sentences);

/// How good parses are, by all words and by those that are not punctuation.
struct ParsingScore {
  AttachmentScore all, without_punctuation;

  void add(const NumberedSentence& sentence, const std::vector<Arc>& guesses);
};

/// Parses the sentences and scores the result.
ParsingScore score(Cluster& cluster, const TransitionParser& net,
                   const ParserVocabulary& vocabulary,
                   const std::vector<NumberedSentence>& sentences);

/// The mean cross entropy of the oracle's transitions, in nats.
double mean_loss(Cluster& cluster, const TransitionParser& net, const OracleExamples& examples);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
