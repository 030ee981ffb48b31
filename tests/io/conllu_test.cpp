#include "tapegrad/io/conllu.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <set>

#include "support/scratch.h"
#include "tapegrad/core/error.h"

using namespace tapegrad;
using Catch::Contains;

namespace {

std::vector<DependencyTree> read_trees(const std::string& contents,
                                       const ConlluOptions& options = {}) {
  const testing::Scratch folder;
  std::ofstream(folder / "treebank.conllu", std::ios::binary) << contents;
  return read_conllu(folder / "treebank.conllu", options);
}

std::string word(Index number, const std::string& form, Index head, const std::string& relation) {
  return fmt::format("{}\t{}\t_\tX\tY\t_\t{}\t{}\t_\t_\n", number, form, head, relation);
}

/// Words with these heads, in CoNLL-U.
std::string sentence(const std::vector<Index>& heads) {
  std::string text;
  for (std::size_t i = 0; i < heads.size(); ++i)
    text += word(static_cast<Index>(i) + 1, fmt::format("w{}", i + 1), heads[i],
                 heads[i] == 0 ? "root" : "dep");
  return text + "\n";
}

DependencyTree tree_of(const std::vector<Index>& heads) {
  DependencyTree tree;
  for (const Index head : heads) tree.push_back({.head = head});
  return tree;
}

/// By the definition: no two arcs cross, the root's from before the sentence included.
bool no_arcs_cross(const std::vector<Index>& heads) {
  const auto count = static_cast<Index>(heads.size());
  const auto ends = [&](Index word) {
    return std::minmax({heads[static_cast<std::size_t>(word - 1)], word});
  };
  for (Index a = 1; a <= count; ++a)
    for (Index b = 1; b <= count; ++b) {
      const auto [first, last] = ends(a);
      const auto [begin, end] = ends(b);
      if (first < begin && begin < last && last < end) return false;
    }
  return true;
}

/// Whether every word comes to the root, which is the only one.
bool is_tree(const std::vector<Index>& heads) {
  for (const Index start : heads) {
    Index word = start;
    for (std::size_t step = 0; word != 0 && step < heads.size(); ++step)
      word = heads[static_cast<std::size_t>(word - 1)];
    if (word != 0) return false;
  }
  return std::ranges::count(heads, 0) == 1;
}

}  // namespace

TEST_CASE("sentences in CoNLL-U", "[text]") {
  const auto trees = read_trees(
      "# text = Don't \xe9\r\n"
      "1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_\r\n"
      "1\tDo\tdo\tAUX\tVB\tMood=Imp\t0\troot\t_\tSpaceAfter=No\r\n"
      "2\tn't\tnot\tPART\tRB\t_\t1\tadvmod:neg\t_\t_\r\n"
      "2.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t1:x\t_\r\n"
      "3\t\xe9 l\t_\t_\t_\t_\t1\tdep\t_\t_\r\n"
      "\r\n\n" +
      sentence({0}));
  REQUIRE(trees.size() == 2);
  REQUIRE(trees[0].size() == 3);
  CHECK(trees[0][0].form == "Do");
  CHECK(trees[0][0].upos == "AUX");
  CHECK(trees[0][0].xpos == "VB");
  CHECK(trees[0][1].head == 1);
  CHECK(trees[0][1].relation == "advmod:neg");
  CHECK(trees[0][1].line == 4);
  CHECK(trees[0][2].form == "\xe9 l");
  CHECK(trees[0][2].xpos == "_");
  CHECK(trees[1][0].line == 9);
  CHECK(universal_relation("advmod:neg") == "advmod");
  CHECK(universal_relation("root") == "root");
}

TEST_CASE("sentences are read without their trees", "[text]") {
  const std::string text = "1\ta\t_\tX\tY\t_\t_\t_\t_\t_\n2\tb\t_\tX\tY\t_\t99\t_\t_\t_\n\n";
  CHECK_THROWS_WITH(read_trees(text), Contains("line 1 has a head that is not a number: \"_\""));
  const auto trees = read_trees(text, {.trees = false});
  REQUIRE(trees.size() == 1);
  for (const DependencyWord& each : trees[0]) {
    CHECK(each.head == 0);
    CHECK(each.relation == "_");
    CHECK(each.xpos == "Y");
  }
}

TEST_CASE("a file that is not CoNLL-U is refused with its line", "[text]") {
  const auto refused = [](const std::string& text, const std::string& message) {
    CHECK_THROWS_WITH(read_trees(sentence({0}) + text),
                      Contains("treebank.conllu") && Contains(message));
    CHECK_THROWS_AS(read_trees(sentence({0}) + text), DataError);
  };
  CHECK_THROWS_WITH(read_trees(""), Contains("it has no sentences"));
  CHECK_THROWS_WITH(read_trees("# only\n"), Contains("it has no sentences"));
  refused("1\ta\tX\n\n", "line 3 has 3 fields, not the 10 of CoNLL-U");
  refused("1\ta\t\tX\tY\t_\t0\troot\t_\t_\n\n", "line 3 has an empty field");
  refused("the dogs run\n", "line 3 has 1 fields, not the 10 of CoNLL-U");
  refused(word(2, "a", 0, "root") + "\n", "line 3 should be of word 1: \"2\"");
  refused(word(1, "a", 0, "root") + word(3, "b", 1, "dep") + "\n", "line 4 should be of word 2");
  refused("-1" + word(1, "a", 0, "root").substr(1) + "\n", "line 3 should be of word 1");
  refused("1-x" + word(1, "a", 0, "root").substr(1) + "\n", "line 3 should be of word 1");
  refused("99999999999999999999" + word(1, "a", 0, "root").substr(1) + "\n",
          "line 3 should be of word 1: \"99999999999999999999\"");
  refused(word(1, "a", 0, "root"), "line 3 ends in a sentence");
  refused(word(1, "a", 0, "root") + "\n#", "line 5 has no end");
}

TEST_CASE("heads that are no tree are refused with their line", "[text]") {
  const auto refused = [](const std::string& text, const std::string& message) {
    CHECK_THROWS_WITH(read_trees(text), Contains("treebank.conllu") && Contains(message));
  };
  refused(sentence({2, 0, 4}), "line 3 has head 4, but the sentence has 3 words");
  refused(word(1, "a", -1, "dep") + "\n", "line 1 has a head that is not a number: \"-1\"");
  refused(sentence({0, 3, 2}), "line 2 is of a word whose heads lead back to it: \"w2\"");
  refused(sentence({0, 2}), "line 2 is of a word whose heads lead back to it");
  refused(sentence({2, 1}), "line 1 is of a word whose heads lead back to it");
  refused(sentence({2, 0, 0}), "line 3 has a second root, beside word 2");
  refused(word(1, "a", 0, "dep") + "\n", "line 1 has head 0 and relation \"dep\"");
  refused(word(1, "a", 0, "root") + word(2, "b", 1, "root") + "\n",
          "line 2 has head 1 and relation \"root\"");
}

TEST_CASE("a cut file is refused wherever it is cut but between sentences", "[text]") {
  const std::string first = sentence({2, 0}), whole = first + sentence({0, 1, 1});
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    INFO(bytes);
    if (bytes == first.size())
      CHECK(read_trees(whole.substr(0, bytes)).size() == 1);
    else
      CHECK_THROWS_AS(read_trees(whole.substr(0, bytes)), DataError);
  }
}

TEST_CASE("all heads of short sentences are read if they are a tree, and judged projective by it",
          "[text]") {
  Index trees = 0, projective = 0;
  for (Index words = 1; words <= 5; ++words) {
    std::vector<Index> heads(static_cast<std::size_t>(words), 0);
    for (bool more = true; more;) {
      INFO(fmt::format("{}", fmt::join(heads, " ")));
      if (is_tree(heads)) {
        CHECK(read_trees(sentence(heads)).size() == 1);
        CHECK(is_projective(tree_of(heads)) == no_arcs_cross(heads));
        ++trees, projective += is_projective(tree_of(heads));
      } else {
        CHECK_THROWS_AS(read_trees(sentence(heads)), DataError);
      }
      more = false;
      for (Index& head : heads) {
        head = head == words ? 0 : head + 1;
        more = head != 0;
        if (more) break;
      }
    }
  }
  CHECK(trees == 1 + 2 + 9 + 64 + 625);       // n^(n-1), Cayley's formula
  CHECK(projective == 1 + 2 + 7 + 30 + 143);  // OEIS A006013
  CHECK_THROWS_AS(is_projective(tree_of({2, 1})), ArgumentError);
  CHECK_THROWS_AS(is_projective(tree_of({2})), ArgumentError);
  CHECK_THROWS_AS(is_projective(tree_of({-1})), ArgumentError);
}

TEST_CASE("a tree of a million words takes no longer than its file", "[text]") {
  std::vector<Index> chain(1'000'000);
  std::iota(chain.begin(), chain.end(), 0);
  CHECK(is_projective(tree_of(chain)));
}

TEST_CASE("the English Web Treebank is as published", "[text]") {
  const char* data = std::getenv("TAPEGRAD_DATA");
  if (data == nullptr) {
    WARN("skipped: TAPEGRAD_DATA is not set, no treebank was read");
    return;
  }
  struct Part {
    std::string name;
    std::size_t sentences, words, without_punctuation, projective, longest;
  };
  std::set<std::string> relations, subtypes, tags;
  for (const Part& part :
       {Part{"train", 12544, 204577, 180981, 12256, 159}, Part{"dev", 2001, 25147, 22072, 1970, 75},
        Part{"test", 2077, 25094, 21998, 2051, 81}}) {
    INFO(part.name);
    const auto trees = read_conllu(std::filesystem::path(data) / "ud-english-ewt" /
                                   fmt::format("en_ewt-ud-{}.conllu.gz", part.name));
    std::size_t words = 0, without_punctuation = 0, projective = 0, longest = 0;
    for (const DependencyTree& tree : trees) {
      words += tree.size();
      longest = std::max(longest, tree.size());
      projective += is_projective(tree) ? 1 : 0;
      for (const DependencyWord& each : tree) {
        without_punctuation += each.upos != "PUNCT" ? 1 : 0;
        tags.insert(each.xpos);
        subtypes.insert(each.relation);
        relations.insert(universal_relation(each.relation));
      }
    }
    CHECK(trees.size() == part.sentences);
    CHECK(words == part.words);
    CHECK(without_punctuation == part.without_punctuation);
    CHECK(projective == part.projective);
    CHECK(longest == part.longest);
    if (part.name != "train") continue;
    CHECK(tags.size() == 49);
    CHECK(relations.size() == 36);
    CHECK(subtypes.size() == 51);
  }
}
