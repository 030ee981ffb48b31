#include "data/head_rules.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

using Distance = std::optional<Index>;  // to the head; none for the root

Distance distance_to_head(const DependencyTree& tree, std::size_t i) {
  if (tree[i].head == 0) return {};
  return tree[i].head - static_cast<Index>(i) - 1;
}

}  // namespace

HeadRule next_word() {
  return
      [](const DependencyTree& tree, Index word) { return word < std::ssize(tree) ? word + 1 : 0; };
}

HeadRule previous_word() {
  return [](const DependencyTree&, Index word) { return word - 1; };
}

HeadRule commonest_distance(const std::vector<DependencyTree>& train) {
  std::map<std::string, std::map<Distance, Index>> counts;
  for (const DependencyTree& tree : train)
    for (std::size_t i = 0; i < tree.size(); ++i) ++counts[tree[i].xpos][distance_to_head(tree, i)];
  std::map<std::string, Distance> commonest;
  for (const auto& [tag, distances] : counts)
    commonest[tag] = std::ranges::max_element(distances, {}, [](const auto& each) {
                       return each.second;
                     })->first;
  return [commonest](const DependencyTree& tree, Index word) {
    const auto found = commonest.find(tree[word - 1].xpos);
    if (found == commonest.end()) return next_word()(tree, word);
    return found->second ? word + *found->second : 0;
  };
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
