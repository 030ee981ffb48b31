#pragma once

#include "tapegrad/core/indices.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

// Baselines of language models: the bits that each token of a text but the first costs, in the
// mean, by counts in a training text with add-one smoothing. Both throw ShapeError for ids outside
// of [0, vocabulary) and DataError for texts of fewer than two tokens.

/// By the token alone.
double unigram_bits(const Indices& training, const Indices& text, Index vocabulary);
/// By the token and the one before it.
double bigram_bits(const Indices& training, const Indices& text, Index vocabulary);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
