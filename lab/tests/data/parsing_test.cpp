#include "problems/parsing.h"
#include "data/head_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>

#include "support/grammar.h"
#include "tapegrad/core/error.h"
#include "tapegrad/nn/functions/loss.h"
#include "tapegrad/nn/optimizers/optimizer.h"
#include "tapegrad/ops/grad.h"

using namespace tapegrad;
using namespace tapegrad::problems;
using namespace tapegrad::support;
using Catch::Contains;

namespace {

constexpr Index none = Configuration::none;

std::vector<Arc> arcs_of(const DependencyTree& tree) {
  std::vector<Arc> arcs;
  for (const DependencyWord& word : tree) arcs.push_back({word.head, word.head == 0 ? 0 : 1});
  return arcs;
}

/// The arcs that the oracle's transitions draw, after checking their number.
std::vector<Arc> rebuilt(const std::vector<Arc>& tree) {
  const std::vector<Transition> transitions = oracle(tree);
  CHECK(transitions.size() == 2 * tree.size());
  Configuration configuration(std::ssize(tree));
  for (const Transition& each : transitions) configuration.apply(each);
  CHECK(configuration.is_final());
  return configuration.arcs();
}

/// How many trees the oracle rebuilds, and how many it refuses.
std::pair<Index, Index> rebuilt_and_refused(const std::vector<DependencyTree>& trees) {
  Index done = 0, refused = 0;
  for (const DependencyTree& tree : trees) {
    const std::vector<Arc> arcs = arcs_of(tree);
    INFO("line " << tree.front().line);
    if (is_projective(tree)) {
      CHECK(rebuilt(arcs) == arcs);
      ++done;
    } else {
      CHECK_THROWS_WITH(oracle(arcs), Contains("arcs of the tree cross: words "));
      ++refused;
    }
  }
  return {done, refused};
}

Treebank drawn() {
  Treebank bank = draw_treebank(1);
  bank.train.resize(300);
  return bank;
}

double uas(const std::vector<DependencyTree>& trees,
           const std::function<Index(const DependencyTree&, Index)>& head) {
  AttachmentScore score;
  for (const DependencyTree& tree : trees)
    for (std::size_t i = 0; i < tree.size(); ++i)
      if (tree[i].upos != "PUNCT")
        score.add({tree[i].head, 0}, {head(tree, static_cast<Index>(i) + 1), 0});
  return 100 * score.uas();
}

const char* real_data() {
  const char* data = std::getenv("TAPEGRAD_DATA");
  if (data == nullptr) WARN("skipped: TAPEGRAD_DATA is not set, no treebank was read");
  return data;
}

}  // namespace

TEST_CASE("transitions and their numbers") {
  const TransitionClasses classes{36};
  CHECK(classes.count() == 72);
  std::map<Action, Index> actions;
  for (Index number = 0; number < classes.count(); ++number) {
    const Transition transition = classes.at(number);
    CHECK(classes.number(transition) == number);
    ++actions[transition.action];
    CHECK(!(transition.action == Action::left && transition.label == root_label));
  }
  CHECK(actions ==
        std::map<Action, Index>{{Action::shift, 1}, {Action::left, 35}, {Action::right, 36}});
}

TEST_CASE("the oracle rebuilds drawn trees in two steps per word") {
  Random random(1);
  const auto trees = grammar_trees(1000, random);
  CHECK(rebuilt_and_refused(trees) == std::pair<Index, Index>(1000, 0));
}

TEST_CASE("the oracle waits until a word has all its dependents") {
  // 1 <- 2 -> 3 -> 4, the root is 2
  const std::vector<Arc> tree{{2, 1}, {0, 0}, {2, 2}, {3, 3}};
  const std::vector<Transition> expected{{Action::shift},    {Action::shift},   {Action::left, 1},
                                         {Action::shift},    {Action::shift},   {Action::right, 3},
                                         {Action::right, 2}, {Action::right, 0}};
  CHECK(oracle(tree) == expected);
  CHECK_THROWS_WITH(oracle({{3, 1}, {4, 1}, {0, 0}, {3, 1}}),
                    Contains("arcs of the tree cross: words "));
}

TEST_CASE("all legal transitions lead to a tree with one root") {
  constexpr Index labels = 3;
  Random random(5);
  const TransitionClasses classes{labels};
  for (int policy = 0; policy < 1000; ++policy) {
    const Index words = 1 + random.below(12);
    Configuration configuration(words);
    Index steps = 0;
    for (; !configuration.is_final(); ++steps) {
      std::vector<Transition> legal;
      for (Index number = 0; number < classes.count(); ++number)
        if (configuration.is_legal(classes.at(number))) legal.push_back(classes.at(number));
      REQUIRE(!legal.empty());
      configuration.apply(legal[static_cast<std::size_t>(random.below(std::ssize(legal)))]);
    }
    CHECK(steps == 2 * words);
    DependencyTree tree;
    for (const auto& [head, label] : configuration.arcs()) {
      CHECK((head == 0) == (label == root_label));
      tree.push_back({.head = head});
    }
    CHECK(std::ranges::count(tree, 0, &DependencyWord::head) == 1);
    CHECK(is_projective(tree));  // throws for cycles
  }
}

TEST_CASE("illegal transitions are refused") {
  Configuration configuration(2);
  for (const Transition& early : {Transition{Action::left, 1}, {Action::right, 0}})
    CHECK_THROWS_AS(configuration.apply(early), ArgumentError);
  configuration.apply({Action::shift});
  CHECK_FALSE(configuration.is_legal({Action::left, 1}));   // it would remove the root
  CHECK_FALSE(configuration.is_legal({Action::right, 0}));  // a word is not read yet
  configuration.apply({Action::shift});
  CHECK_FALSE(configuration.is_legal({Action::shift}));
  CHECK_FALSE(configuration.is_legal({Action::right, 0}));
  CHECK(configuration.is_legal({Action::right, 1}));
  configuration.apply({Action::left, 1});
  CHECK_FALSE(configuration.is_legal({Action::right, 1}));
  configuration.apply({Action::right, 0});
  CHECK(configuration.is_final());
}

TEST_CASE("the features of a configuration") {
  // Words 1 and 2 of 12 hang on 3 from the left (1 on 2: a chain), 4 and 6 on 3 from the right,
  // 5 on 6 from the left, 7 on 6 from the right; then 8 is on the stack, with 9 on its right.
  Configuration configuration(12);
  const auto take = [&](Action action, Index label = 0) { configuration.apply({action, label}); };
  CHECK(configuration.tokens() ==
        std::array<Index, feature_tokens>{0, none, none, 1, 2, 3, none, none, none, none, none,
                                          none, none, none, none, none, none, none});
  for (int i = 0; i < 2; ++i) take(Action::shift);
  take(Action::left, 1);  // 1 <- 2
  take(Action::shift);
  take(Action::left, 2);  // 2 <- 3
  take(Action::shift);
  take(Action::right, 3);  // 3 -> 4
  for (int i = 0; i < 2; ++i) take(Action::shift);
  take(Action::left, 4);  // 5 <- 6
  take(Action::shift);
  take(Action::right, 5);  // 6 -> 7
  take(Action::right, 6);  // 3 -> 6
  for (int i = 0; i < 2; ++i) take(Action::shift);
  take(Action::right, 7);  // 8 -> 9
  CHECK(configuration.tokens() ==
        std::array<Index, feature_tokens>{8, 3, 0, 10, 11, 12,              // s0 s1 s2 b0 b1 b2
                                          none, 9, none, none, none, none,  // of s0 = 8
                                          2, 6, none, 4, 1, 7});            // of s1 = 3

  const ParserVocabulary vocabulary({"a", "b"}, {"T", "U"}, {"root", "x", "y"});
  CHECK(vocabulary.ids() == (2 + 2 + 1) + (2 + 2 + 1) + (2 + 3));
  DependencyTree tree(12, {.form = "new", .xpos = "T", .relation = "x"});
  tree[7] = {.form = "A", .xpos = "U", .relation = "root"};
  tree[8] = {.form = "b", .xpos = "V", .relation = "y"};
  std::vector<Index> row(feature_count);
  Configuration small(12);
  for (int i = 0; i < 9; ++i) small.apply({Action::shift});
  small.apply({Action::right, 2});  // 8 -> 9
  vocabulary.features(small, vocabulary.numbered(tree), row);
  // Words: 0 none, 1 unknown, 2 and 3 from the list, 4 the root. Tags the same from 5 on.
  // Labels from 10 on: 10 none, 12 "root", 13 "x", 14 "y".
  CHECK(row ==
        std::vector<Index>{2,  1,  1,  1,  1,  1,  0,  3,  0,  0,  0,  0, 0, 0, 0, 0, 0, 0,  //
                           8,  7,  7,  7,  7,  7,  5,  6,  5,  5,  5,  5, 5, 5, 5, 5, 5, 5,  //
                           10, 14, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10});
}

TEST_CASE("vocabularies of parsers") {
  const auto bank = drawn();
  const ParserVocabulary vocabulary(bank.train);
  CHECK(vocabulary.relation(0) == "root");
  CHECK(vocabulary.classes().count() == 2 * std::ssize(vocabulary.relations()));
  const ParserVocabulary again(vocabulary.words(), vocabulary.tags(), vocabulary.relations());
  const auto same = [&](const DependencyTree& tree) {
    return vocabulary.numbered(tree).words == again.numbered(tree).words &&
           vocabulary.numbered(tree).tags == again.numbered(tree).tags &&
           vocabulary.numbered(tree).arcs == again.numbered(tree).arcs;
  };
  CHECK(std::ranges::all_of(bank.test, same));
  CHECK_THROWS_AS(ParserVocabulary({}, {}, {"x", "root"}), DataError);
  CHECK_THROWS_AS(ParserVocabulary({}, {}, {}), DataError);
  CHECK_THROWS_WITH(ParserVocabulary({"a", "a"}, {}, {"root"}), Contains("twice: a"));
}

TEST_CASE("a sentence is parsed alone as among others, in any number of shards") {
  const auto bank = drawn();
  const ParserVocabulary vocabulary(bank.train);
  Random random(3);
  const TransitionParser net(vocabulary.ids(), feature_count, vocabulary.classes().count(), random,
                             {.embedding = 8, .hidden = 32});
  const auto sentences = numbered(vocabulary, bank.test);
  const auto together = parse(net, vocabulary, sentences);
  REQUIRE(together.size() == 400);  // more than are parsed side by side
  for (std::size_t i = 0; i < sentences.size(); i += 50)
    CHECK(parse(net, vocabulary, {&sentences[i], 1})[0] == together[i]);

  Cluster one, four({.shards = 4});
  const ParsingScore a = score(one, net, vocabulary, sentences);
  const ParsingScore b = score(four, net, vocabulary, sentences);
  CHECK(a.all.heads == b.all.heads);
  CHECK(a.all.words == b.all.words);
  CHECK(a.without_punctuation.arcs == b.without_punctuation.arcs);
  CHECK(a.all.words - a.without_punctuation.words == std::ssize(bank.test));
  CHECK(a.all.las() <= a.all.uas());

  const OracleExamples examples = oracle_examples(vocabulary, bank.train);
  const auto& [features, transitions] = examples.columns();
  REQUIRE(examples.count() > 3000);  // more than are evaluated at a time
  const double loss = cross_entropy(net(features), transitions).item();
  CHECK(mean_loss(one, net, examples) == Approx(loss));
  CHECK(mean_loss(four, net, examples) == Approx(loss));
}

TEST_CASE("right arcs score 100 %, and only projective trees are learnt") {
  const auto bank = drawn();
  const ParserVocabulary vocabulary(bank.train);
  ParsingScore score;
  for (const NumberedSentence& sentence : numbered(vocabulary, bank.test))
    score.add(sentence, sentence.arcs);
  CHECK(score.all.uas() == 1);
  CHECK(score.without_punctuation.las() == 1);

  const OracleExamples examples = oracle_examples(vocabulary, bank.train);
  Index words = 0;
  for (const DependencyTree& tree : bank.train) words += std::ssize(tree);
  CHECK(examples.count() == 2 * words);
  DependencyTree crossing(4, {.form = "a", .xpos = "T", .relation = "det"});
  for (std::size_t i = 0; const Index head : {3, 4, 0, 3}) crossing[i++].head = head;
  CHECK(oracle_examples(vocabulary, {bank.train[0], crossing}).count() ==
        2 * std::ssize(bank.train[0]));
  CHECK_THROWS_WITH(oracle_examples(vocabulary, {crossing}), Contains("no projective trees"));
}

TEST_CASE("sixty-four sentences are learnt by heart") {
  const char* data = real_data();
  Treebank bank = data == nullptr ? drawn() : read_treebank(data);
  std::erase_if(bank.train, [](const DependencyTree& tree) { return !is_projective(tree); });
  bank.train.resize(64);
  const ParserVocabulary vocabulary(bank.train);
  Random random(1);
  const TransitionParser net(vocabulary.ids(), feature_count, vocabulary.classes().count(), random,
                             {.embedding = 8, .hidden = 32, .norm = "layer"});
  const OracleExamples examples = oracle_examples(vocabulary, bank.train);
  const auto& [features, transitions] = examples.columns();
  Cluster cluster;
  const auto sentences = numbered(vocabulary, bank.train);
  CHECK(score(cluster, net, vocabulary, sentences).all.uas() < 0.5);
  Adam adam(parameters(net), {.learning_rate = 1e-2});
  for (int step = 0; step < 200; ++step) {
    const Tape tape;
    const Tensor loss = cross_entropy(net(features), transitions);
    adam.step(grad(loss, adam.parameters()));
  }
  const ParsingScore learnt = score(cluster, net, vocabulary, sentences);
  CHECK(learnt.all.uas() > 0.99);
  CHECK(learnt.without_punctuation.uas() > 0.99);
}

TEST_CASE("the oracle and the English Web Treebank") {
  const char* data = real_data();
  if (data == nullptr) return;
  const Treebank bank = read_treebank(data);
  CHECK(rebuilt_and_refused(bank.train) == std::pair<Index, Index>(12256, 288));
  CHECK(rebuilt_and_refused(bank.validation) == std::pair<Index, Index>(1970, 31));
  CHECK(rebuilt_and_refused(bank.test) == std::pair<Index, Index>(2051, 26));

  const ParserVocabulary vocabulary(bank.train);
  CHECK(vocabulary.words().size() == 8865);
  CHECK(vocabulary.tags().size() == 49);
  CHECK(vocabulary.classes().count() == 72);
  CHECK(oracle_examples(vocabulary, bank.train).count() == 392214);
  CHECK(oracle_examples(vocabulary, bank.validation).count() == 48430);
  CHECK(oracle_examples(vocabulary, bank.test).count() == 48866);
  Index unknown = 0;
  for (const NumberedSentence& sentence : numbered(vocabulary, bank.test))
    unknown += std::ranges::count(sentence.words, 1);
  CHECK(unknown == 2441);  // 9.7 % of 25,094
}

TEST_CASE("what trees score that look at no words") {
  const char* data = real_data();
  if (data == nullptr) return;
  const Treebank bank = read_treebank(data);
  CHECK(uas(bank.test, next_word()) == Approx(31.803).margin(0.001));
  CHECK(uas(bank.test, previous_word()) == Approx(9.037).margin(0.001));
  CHECK(uas(bank.test, commonest_distance(bank.train)) == Approx(34.453).margin(0.001));
}
