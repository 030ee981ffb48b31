#pragma once

#include <span>
#include <string>
#include <vector>

#include "support/subwords.h"
#include "tapegrad/cluster/cluster.h"
#include "tapegrad/models/transformer.h"
#include "tapegrad/nn/data/lines.h"
#include "tapegrad/train/heat_map.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// Sentences as numbers of subwords, without begin and end.
struct EncodedPairs {
  std::vector<std::vector<Index>> source, target;

  EncodedPairs(const ParallelLines& lines, const Subwords& subwords);
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
/// The same over all batches: the mean over their subwords. The processes of a cluster share them.
double translation_loss(const Translator& net, const std::vector<PairBatch>& batches,
                        double label_smoothing, Cluster& cluster);

/// The best translation of each line, by a beam of this width. A translation of m subwords has at
/// most 1.2 m + 10. An empty line has an empty translation.
std::vector<std::string> translate(const Translator& net, const Subwords& subwords,
                                   std::span<const std::string> lines, Index width);

/// BLEU of the translations of the sources. The processes of a cluster share the lines.
double translation_bleu(const Translator& net, const Subwords& subwords, const ParallelLines& lines,
                        Index width, Cluster& cluster);

/// Where the net looks in a line when it writes each subword of a translation: the mean over heads
/// of the attention to the source in the last layer but one, in percent.
HeatMap attention_map(const Translator& net, const Subwords& subwords, const std::string& line,
                      const std::string& translation);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
