#pragma once

#include <string>

#include "data/char_text.h"
#include "tapegrad/core/random.h"
#include "tapegrad/models/transformer.h"

/// What experiments on character-level Transformers share.
namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// The text as characters. Throws DataError, naming the source, unless rows of `length` characters
/// fit into its training part and what is held out is long enough to be split.
support::CharText text_to_learn(const std::string& source, const std::string& text, Index length);

/// Initializes matrices (inputs, outputs) as U(+-1/sqrt(inputs)), like the code of Xu et al. 2019;
/// other parameters stay as they are.
void initialize_like_paper(std::vector<Parameter> parameters, Random& random);

/// The loss of a net that reads the text in rows of `length` characters, in bits per character.
///   text: (N) ids, N at least 2
double bits_a_character(const TransformerLm& net, const Indices& text, Index length);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
