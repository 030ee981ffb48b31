#pragma once

#include <string>
#include <vector>

#include "tapegrad/models/transformer.h"
#include "tapegrad/nn/data/sentences.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// The shape of a Transformer encoder that classifies sentences. The defaults are those of Xu et
/// al. 2019, section 2.2; heads are not stated there.
struct SentenceNet {
  std::string norm = "layer";
  std::string placement = "pre";
  Index layers = 4;
  Index heads = 4;
  Index channels = 128;
  Index hidden = 128;
  double dropout = 0.2;

  TransformerModelOptions model() const;
};

/// The batches of a training on sentences, by step. Each epoch has an order of its own, which
/// depends on the seed and its number. The number of batches does not.
class SentenceEpochs {
 public:
  /// tokens: words of a batch, including padding. sentences, vocabulary: must outlive this
  SentenceEpochs(const std::vector<Sentence>& sentences, const Vocabulary& vocabulary, Index tokens,
                 std::uint64_t seed);

  Index per_epoch() const { return static_cast<Index>(batches_.size()); }
  /// The batch of a step, counted from 0. Valid until the next call.
  const SentenceBatch& at(Index step);

 private:
  std::vector<SentenceBatch> epoch(Index number) const;

  const std::vector<Sentence>& sentences_;
  const Vocabulary& vocabulary_;
  Index tokens_;
  std::uint64_t seed_;
  Index number_ = 0;
  std::vector<SentenceBatch> batches_;  // of the current epoch
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
