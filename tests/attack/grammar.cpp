// Texts that are judged by the small grammar.

#include "support/grammar.h"

#include "attack.h"

namespace tapegrad::attack {

void attack(std::string_view input) {
  const support::GrammarScore score = support::score_grammar(input);
  expect_property(0 <= score.grammatical && score.grammatical <= score.sentences,
                  "only sentences are grammatical");
  expect_property(0 <= score.far_agreeing && score.far_agreeing <= score.far_verbs &&
                      score.far_agreeing <= score.agreeing && score.agreeing <= score.verbs,
                  "only verbs agree");
  expect_property(!to_string(score).empty(), "every score can be printed");
}

}  // namespace tapegrad::attack
