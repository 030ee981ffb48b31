#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/shuffled_epochs.h"
#include "data/subwords.h"
#include "data/translation_sets.h"
#include "problems/problem.h"
#include "tapegrad/io/lines.h"
#include "tapegrad/models/transformer.h"
#include "tapegrad/train/heat_map.h"

/// Translation by a Transformer, as in Xu et al. 2019, section 2.2.
namespace tapegrad::TAPEGRAD_SCALAR::problems {

/// Sentences as numbers of subwords, without begin and end.
struct EncodedPairs {
  std::vector<std::vector<Index>> source, target;

  EncodedPairs(const ParallelLines& lines, const support::Subwords& subwords);
};

/// Pairs side by side, padded.
struct PairBatch {
  Indices source;   ///< (B, Ts): x_1 ... x_m end
  Indices lengths;  ///< (B), of the sources, end included
  Indices inputs;   ///< (B, Tt): begin y_1 ... y_n
  Indices targets;  ///< (B, Tt): y_1 ... y_n end

  Index rows() const { return lengths.size(); }
  /// How many targets there are, without padding.
  Index tokens() const;
  /// The pairs [begin, end).
  PairBatch part(Index begin, Index end) const;
};

/// All pairs in batches of similar length, first of the target, then of the source. The number of
/// pairs of a batch times the length of its longest sentence is at most `tokens`. `random`
/// shuffles.
std::vector<PairBatch> pair_batches(const EncodedPairs& pairs, Index tokens,
                                    Random* random = nullptr);

/// The mean cross entropy of the targets, in nats per subword.
Tensor translation_loss(const Translator& net, const PairBatch& batch, double label_smoothing,
                        Mode mode = {});
/// The mean loss over the subwords of all batches. The processes of a cluster share the batches.
double translation_loss(const Translator& net, const std::vector<PairBatch>& batches,
                        double label_smoothing, Cluster& cluster);

/// The best translation of each line, by a beam of this width. A translation of m subwords has at
/// most 1.2 m + 10. An empty line has an empty translation.
std::vector<std::string> translate(const Translator& net, const support::Subwords& subwords,
                                   std::span<const std::string> lines, Index width);

/// BLEU of the translations of the sources. The processes of a cluster share the lines.
double translation_bleu(const Translator& net, const support::Subwords& subwords,
                        const ParallelLines& lines, Index width, Cluster& cluster);

/// Where the net looks in a line when it writes each subword of a translation: the mean over heads
/// of the attention to the source in the last layer but one, in percent.
HeatMap attention_map(const Translator& net, const support::Subwords& subwords,
                      const std::string& line, const std::string& translation);

/// Subwords of both languages, at most so many.
support::Subwords learn_subwords(const ParallelLines& pairs, Index most);

/// What a Transformer learns from.
struct TranslationData {
  support::TranslationSets sets;
  support::Subwords subwords;
  Index batch_tokens;
  EncodedPairs train;
  std::vector<PairBatch> validation;

  TranslationData(const support::TranslationSets& all, const support::Subwords& known,
                  Index tokens);
  const ParallelLines& test() const { return sets.tests.front().lines; }
};

/// How a translator is trained and judged, beside its net.
struct TranslationTraining {
  double label_smoothing;
  Index beam;
};

class TranslationTrainee : public Trainee {
 public:
  TranslationTrainee(const TranslationData& data, const TransformerModelOptions& options,
                     const TranslationTraining& how, std::uint64_t seed, Random& random);

  const Translator& translator() const { return net_; }
  Index per_epoch() const { return batches_.per_epoch(); }

  Fields net() const override { return fields(net_); }
  Index rows(Index step) override { return batches_.at(step).rows(); }
  /// The mean over the pairs of all shards is that over the subwords of the batch.
  Tensor loss(Index step, const Shard& shard, Random& random) override;
  Validation validate() override;
  void test(lab::Outcome& outcome) override;
  /// What is added up along the residual connections, which pre-norms read.
  bool feeds_norms(const std::string& parameter) const override;

 private:
  const TranslationData& data_;
  TranslationTraining how_;
  Translator net_;
  support::ShuffledEpochs<PairBatch> batches_;
};

/// What each sentence contributes to the BLEU of a corpus, so that the mean over sentences is that
/// BLEU: the jackknife's pseudo-values (Efron 1982), by how much BLEU changes without the sentence.
/// Resampling them comes close to resampling sentences (Koehn 2004), and needs no other bootstrap
/// than the one of means. Throws ArgumentError for different numbers of lines.
std::vector<double> bleu_shares(const std::vector<std::string>& translations,
                                const std::vector<std::string>& references);

/// The sizes of the task: a Transformer as deep as the paper's, and narrower.
struct TranslationSizes {
  TransformerOptions stack{.layers = 6,
                           .heads = 4,
                           .channels = 64,
                           .feed_forward = 128,
                           .activation = Activation::relu,
                           .dropout = 0.1,
                           .attention_dropout = 0.1,
                           .activation_dropout = 0.1};  ///< the setting chooses its norm
  Index vocabulary = 4000;
  Index batch_tokens = 2048;
  Index epochs = 5;
  Index validations = 4;  ///< in each epoch, as nearly as whole steps allow
  Index warmup = 300;
  double label_smoothing = 0.1;
  Index beam = 5;
  double rate = 2e-3;
  double seconds = 500;
};

/// Multi30k. The value "test" is BLEU on the first test set; items are the shares of its sentences.
/// BLEU on each further test set has the name of the set. Subwords are learned from both sides of
/// the training set.
Problem translation_problem(const support::TranslationSets& sets,
                            const TranslationSizes& sizes = {});
/// A pair of languages, such as `de_en`, or one that is drawn.
Problem translation_problem(const std::string& pair, const Origin& origin, Size size);

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
