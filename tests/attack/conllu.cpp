// Sentences in CoNLL-U: those with trees survive writing and reading again, and their trees are
// trees.

#include "tapegrad/io/conllu.h"

#include <fmt/format.h>

#include <algorithm>

#include "attack.h"

namespace tapegrad::attack {
namespace {

std::string written(const std::vector<DependencyTree>& trees) {
  std::string text;
  for (const DependencyTree& tree : trees) {
    for (std::size_t i = 0; i < tree.size(); ++i)
      text += fmt::format("{}\t{}\t_\t{}\t{}\t_\t{}\t{}\t_\t_\n", i + 1, tree[i].form, tree[i].upos,
                          tree[i].xpos, tree[i].head, tree[i].relation);
    text += '\n';
  }
  return text;
}

}  // namespace

void attack(std::string_view input) {
  refuses([&] {
    for (const DependencyTree& words : read_conllu(File(input).path(), {.trees = false}))
      expect_property(!words.empty(), "a sentence has words");
  });
  const std::vector<DependencyTree> trees = read_conllu(File(input).path());
  const std::string text = written(trees);
  const File again(text, File::Kind::mapped);
  expect_property(written(read_conllu(again.path())) == text, "sentences survive writing");
  for (const DependencyTree& tree : trees) {
    expect_property(std::ranges::count(tree, 0, &DependencyWord::head) == 1, "a tree has one root");
    expect_property(!refuses([&] { is_projective(tree); }), "no heads lead back to their word");
  }
}

}  // namespace tapegrad::attack
