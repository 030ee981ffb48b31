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

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
