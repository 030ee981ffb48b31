#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/transitions.h"
#include "data/treebank.h"
#include "problems/problem.h"
#include "tapegrad/io/batches.h"
#include "tapegrad/io/examples.h"
#include "tapegrad/io/sentences.h"
#include "tapegrad/zoo/parser.h"

/// Dependencies between the words of sentences: the transition-based parser of Chen and Manning
/// 2014, as in Xu et al. 2019, section 2.2.
namespace tapegrad::TAPEGRAD_SCALAR::problems {

/// 18 words, their tags, and the labels of the arcs to the last 12 of them.
constexpr Index feature_count = 48;

/// A sentence as a parser sees it. Labels that are not known are -1.
struct NumberedSentence {
  std::vector<Index> words, tags;  ///< ids by token, the root first
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
  /// Takes `words()`, `tags()` and `relations()` of another vocabulary. Throws DataError for a word
  /// that is there twice, and if the first relation is not "root".
  ParserVocabulary(std::vector<std::string> words, std::vector<std::string> tags,
                   std::vector<std::string> relations);

  const std::vector<std::string>& words() const { return words_.words(); }
  const std::vector<std::string>& tags() const { return tags_.words(); }
  const std::vector<std::string>& relations() const { return relations_.words(); }
  /// The relation of each label.
  const std::string& relation(Index label) const { return relations()[label]; }
  /// The number of all ids.
  Index ids() const { return first_label() + relations_.count(); }
  support::TransitionClasses classes() const { return {std::ssize(relations())}; }

  NumberedSentence numbered(const DependencyTree& tree) const;
  /// Writes the ids of the features of a configuration to `row`.
  void features(const support::Configuration& configuration, const NumberedSentence& sentence,
                std::span<Index> row) const;

 private:
  // Tokens have one id more than their Vocabulary: the root's.
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

/// A treebank of Universal Dependencies, or sentences that are drawn.
support::Treebank treebank(const Origin& origin);

/// What a parser learns from.
struct ParserData {
  support::Treebank bank;
  ParserVocabulary vocabulary;
  OracleExamples train, validation_steps;
  std::vector<NumberedSentence> validation, test;

  explicit ParserData(const support::Treebank& trees);
};

class ParserTrainee : public Trainee {
 public:
  ParserTrainee(const ParserData& data, const ParserOptions& options, Index batch_size,
                std::uint64_t seed, Random& random);

  const TransitionParser& parser() const { return net_; }
  Index per_epoch() const { return batches_.per_epoch(); }

  Fields net() const override { return fields(net_); }
  Index rows(Index step) override { return std::get<1>(batches_.at(step)).size(); }
  Tensor loss(Index step, const Shard& shard, Random& random) override;
  Validation validate() override;
  void test(lab::Outcome& outcome) override;
  /// The layers of the perceptron, the last one too: a softmax does not see its common mode.
  bool feeds_norms(const std::string& parameter) const override {
    return parameter.starts_with("mlp.");
  }

 private:
  const ParserData& data_;
  TransitionParser net_;
  EpochBatches<OracleExamples> batches_;
};

/// The sizes of the paper's task, half as wide as there.
struct ParserSizes {
  Index embedding = 50;
  Index hidden = 256;
  double dropout = 0.2;
  Index batch_size = 1024;
  Index epochs = 6;
  double rate = 1e-3;
  double seconds = 120;
};

/// UD-EWT. The value "test" is the UAS without punctuation in percent, "test_with_punctuation" and
/// "test_las" are others. An item is the number of right heads of a sentence, divided by the mean
/// number of words of a sentence, so that their mean is the UAS.
Problem parser_problem(const support::Treebank& bank, const ParserSizes& sizes = {});
Problem parser_problem(const Origin& origin, Size size);

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
