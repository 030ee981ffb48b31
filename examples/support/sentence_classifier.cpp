#include "support/sentence_classifier.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

TransformerModelOptions SentenceNet::model() const {
  return {.stack = {.layers = layers,
                    .heads = heads,
                    .channels = channels,
                    .feed_forward = hidden,
                    .activation = Activation::relu,
                    .norm = NormSpec(norm),
                    .placement = placement == "pre" ? NormPlacement::pre : NormPlacement::post,
                    .dropout = dropout},
          .positions = Positions::sinusoidal};
}

SentenceEpochs::SentenceEpochs(const std::vector<Sentence>& sentences, const Vocabulary& vocabulary,
                               Index tokens, std::uint64_t seed)
    : sentences_(sentences),
      vocabulary_(vocabulary),
      tokens_(tokens),
      seed_(seed),
      batches_(epoch(0)) {}

std::vector<SentenceBatch> SentenceEpochs::epoch(Index number) const {
  Random order = Random(seed_).stream(0).stream(static_cast<std::uint64_t>(number));
  return sentence_batches(sentences_, vocabulary_, tokens_, &order);
}

const SentenceBatch& SentenceEpochs::at(Index step) {
  if (const Index number = step / per_epoch(); number != number_)
    batches_ = epoch(number_ = number);
  return batches_[static_cast<std::size_t>(step % per_epoch())];
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
