#pragma once

#include <string>
#include <string_view>

#include "tapegrad/core/random.h"
#include "tapegrad/io/conllu.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// Sentences of a small language in which verbs agree with their subjects across nested clauses, so
/// that one can measure what a net has learnt:
///
///     the dogs that the cat sees run.
std::string grammar_text(Index sentences, Random& random);

/// Draws the same sentences as words, full stops among them, with tags of the Penn Treebank and the
/// projective trees of Universal Dependencies.
std::vector<DependencyTree> grammar_trees(Index sentences, Random& random);

/// "sees" for "see" and vice versa; "" for a word that is not a verb of the language.
std::string other_form_of_verb(std::string_view word);

/// How well a text follows the grammar of that language.
struct GrammarScore {
  Index sentences = 0;    ///< between full stops
  Index grammatical = 0;  ///< those in the language, apart from agreement
  Index verbs = 0;        ///< in grammatical sentences
  Index agreeing = 0;     ///< with their subject
  Index far_verbs = 0;    ///< with a clause between subject and verb
  Index far_agreeing = 0;
};
/// Ignores text before the first and after the last full stop.
GrammarScore score_grammar(std::string_view text);
/// "97.1 % of 35 sentences are grammatical; ..."
std::string to_string(const GrammarScore& score);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
