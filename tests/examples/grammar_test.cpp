#include "support/grammar.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

using namespace tapegrad;
using namespace tapegrad::support;

TEST_CASE("drawn sentences are of the grammar and agree") {
  Random random(1);
  const std::string drawn = ".\n" + grammar_text(2000, random);
  const GrammarScore score = score_grammar(drawn);
  CHECK(score.sentences == 2000);
  CHECK(score.grammatical == 2000);
  CHECK(score.verbs > 2000);
  CHECK(score.agreeing == score.verbs);
  CHECK(score.far_verbs > 200);
  CHECK(score.far_agreeing == score.far_verbs);
  Random again(1);
  CHECK(".\n" + grammar_text(2000, again) == drawn);
}

TEST_CASE("sentences have the trees that the grammar gives") {
  Random random(1), again(1);
  const std::vector<DependencyTree> trees = grammar_trees(20000, random);
  std::string text;
  CHECK(std::ranges::all_of(trees, is_projective));
  for (const DependencyTree& tree : trees) {
    for (const DependencyWord& word : tree) text += word.form + " ";
    text.replace(text.size() - 3, 3, ".\n");  // " . "
  }
  CHECK(text == grammar_text(20000, again));

  const auto shape = [](const DependencyTree& tree) {
    std::string words;
    for (const DependencyWord& word : tree)
      words += fmt::format("{}/{}/{} ", word.xpos, word.head, word.relation);
    return words;
  };
  const auto is_drawn = [&](const std::string& words) {
    return std::ranges::count(trees, words, shape) > 0;
  };
  CHECK(is_drawn("DT/2/det NNS/3/nsubj VBP/0/root PRP$/5/nmod:poss NN/3/obj ./3/punct "));
  // the king that my birds follow sleeps.
  CHECK(
      is_drawn("DT/2/det NN/7/nsubj WDT/6/obj PRP$/5/nmod:poss NNS/6/nsubj VBP/2/acl:relcl "
               "VBZ/0/root ./7/punct "));
  // my birds that see the judge run.
  CHECK(
      is_drawn("PRP$/2/nmod:poss NNS/7/nsubj WDT/4/nsubj VBP/2/acl:relcl DT/6/det NN/4/obj "
               "VBP/0/root ./7/punct "));
}

TEST_CASE("faults are seen") {
  const auto score = [](const std::string& sentence) {
    return score_grammar(std::string(".\n").append(sentence));
  };
  CHECK(score("the dogs that the cat sees run.\n").agreeing == 2);
  CHECK(score("the dogs that the cat sees runs.\n").far_agreeing == 0);
  CHECK(score("the dogs that the cat see run.\n").agreeing == 1);
  CHECK(score("my king that likes the foxes sleeps.\n").far_verbs == 1);
  for (const char* wrong : {"the dogs run run.\n", "dogs run.\n", "the dog.\n", "the dog sees.\n",
                            "the dog that run.\n", "the cart runs.\n", ".\n", "runs the dog.\n"}) {
    INFO(wrong);
    CHECK(score(wrong).sentences == 1);
    CHECK(score(wrong).grammatical == 0);
  }
  CHECK(score_grammar("").sentences == 0);
  CHECK(score_grammar("the dog runs.").sentences == 0);
  CHECK(other_form_of_verb("sees") == "see");
  CHECK(other_form_of_verb("run") == "runs");
  CHECK(other_form_of_verb("dog").empty());
}
