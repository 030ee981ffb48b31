#pragma once

#include <string>
#include <string_view>

#include "tapegrad/core/random.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// Sentences of a small language in which verbs agree with their subjects across clauses nested in
/// one another, so that what a net has learnt of it can be measured:
///
///     the dogs that the cat sees run.
std::string grammar_text(Index sentences, Random& random);

/// "sees" for "see" and the other way round; "" for what is not a verb of the language.
std::string other_form_of_verb(std::string_view word);

/// What a text has of that language.
struct GrammarScore {
  Index sentences = 0;    ///< between full stops
  Index grammatical = 0;  ///< that belong to the language but for agreement
  Index verbs = 0;        ///< in those
  Index agreeing = 0;     ///< with their subject
  Index far_verbs = 0;    ///< with a clause between subject and verb
  Index far_agreeing = 0;
};
/// Leaves out what stands before the first and after the last full stop.
GrammarScore score_grammar(std::string_view text);
/// "97.1 % of 35 sentences are grammatical; ..."
std::string to_string(const GrammarScore& score);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
