#include "tapegrad/models/char_rnn.h"

namespace tapegrad::TAPEGRAD_SCALAR {

CharRnn::CharRnn(Index vocabulary, Random& random, const CharRnnOptions& o)
    : embedding(vocabulary, o.embedding, random),
      recurrent(o.cell, o.embedding, o.hidden, random, o.recurrent),
      dropout{o.dropout},
      output(o.hidden * (o.recurrent.bidirectional ? 2 : 1), vocabulary, random) {}

CharRnn::Result CharRnn::operator()(const Indices& ids, const std::vector<RecurrentState>& states,
                                    Mode mode) const {
  const auto [outputs, last] = recurrent(dropout(embedding(ids), mode), states, {}, mode);
  return {output(dropout(outputs, mode)), last};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
