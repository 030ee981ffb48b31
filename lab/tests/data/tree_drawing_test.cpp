#include "data/tree_drawing.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "support/find_all.h"
#include "tapegrad/core/error.h"

using namespace tapegrad;
using namespace tapegrad::support;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

const DependencyTree sentence{
    {"the", "DET", "DT", 2, "det"},    {"dogs", "NOUN", "NNS", 6, "nsubj"},
    {"that", "PRON", "WDT", 5, "obj"}, {"cats", "NOUN", "NNS", 5, "nsubj"},
    {"see", "VERB", "VBP", 2, "acl"},  {"run", "VERB", "VBP", 0, "root"},
    {".", "PUNCT", ".", 6, "punct"}};

}  // namespace

TEST_CASE("a tree as text") {
  CHECK(drawn_as_text(sentence) ==
        "      ┌─> 1  the   DT   2  det\n"
        "┌─┬───┴─> 2  dogs  NNS  6  nsubj\n"
        "│ │ ┌───> 3  that  WDT  5  obj\n"
        "│ │ │ ┌─> 4  cats  NNS  5  nsubj\n"
        "│ └─┴─┴─> 5  see   VBP  2  acl\n"
        "└─────┬─  6  run   VBP  0  root\n"
        "      └─> 7  .     .    6  punct\n");
  CHECK(drawn_as_text({{.form = "run", .xpos = "VB", .relation = "root"}}) ==
        "  1  run  VB  0  root\n");
  CHECK(drawn_as_text({}).empty());
  const std::string other = drawn_as_text({{.form = "\xc3\xa9", .head = 2}, {.form = "ab"}});
  CHECK(other == "┌─> 1  \xc3\xa9   _  2  _\n└─  2  ab  _  0  _\n");
}

TEST_CASE("a tree as an image") {
  DependencyTree tree = sentence;
  tree[0].form = "<&>";
  const std::string one = drawn_as_svg({tree});
  CHECK_THAT(one, Contains("&lt;&amp;&gt;") && !Contains("<&>"));
  for (const DependencyWord& word : sentence) CHECK_THAT(one, Contains(">" + word.relation + "<"));
  CHECK(count(one, "class=\"line blue\"") == 2 * (sentence.size() - 1));  // an arc and its arrow
  CHECK(count(one, "class=\"line red\"") == 1);
  CHECK(count(drawn_as_svg({tree, tree}), "class=\"line red\"") == 2);
}

TEST_CASE("arrows begin where the arcs end") {
  const auto paths =
      testing::find_all(drawn_as_svg({sentence}), "class=\"line blue\" d=\"M([^\"]*)\"");
  REQUIRE(paths.size() == 2 * (sentence.size() - 1));
  for (std::size_t i = 0; i < paths.size(); i += 2)
    CHECK(paths[i].substr(paths[i].rfind('L') + 1) ==
          paths[i + 1].substr(0, paths[i + 1].find('L')));
}

TEST_CASE("trees of any size and shape are drawn, up to a limit") {
  DependencyTree chain, fan, crossing{{.head = 3}, {.head = 4}, {.head = 0}, {.head = 3}};
  for (std::size_t i = 0; i < most_drawn_words; ++i) {
    chain.push_back({.head = static_cast<Index>(i)});
    fan.push_back({.head = i == 0 ? 0 : 1});
  }
  for (const DependencyTree& tree : {chain, fan, crossing}) {
    const std::string text = drawn_as_text(tree);
    CHECK(static_cast<std::size_t>(std::ranges::count(text, '\n')) == tree.size());
    CHECK_THAT(drawn_as_svg({tree}), Contains("</svg>"));
  }
  fan.push_back({.head = 1});
  CHECK_THROWS_AS(drawn_as_text(fan), ArgumentError);
  CHECK_THROWS_AS(drawn_as_svg({fan}), ArgumentError);
}

TEST_CASE("a head is another word of the tree") {
  for (const Index head : {-1, 1, 3}) {
    CHECK_THROWS_AS(drawn_as_text({{.head = head}, {.head = 1}}), ArgumentError);
    CHECK_THROWS_WITH(drawn_as_svg({{{.head = head}, {.head = 1}}}),
                      Contains("draw: word 1 has head " + std::to_string(head)));
  }
}
