// Pairs of concepts: their closure, if they have one, is its own closure; concepts survive writing.

#include "data/hypernyms.h"

#include <fmt/format.h>

#include "attack.h"

namespace tapegrad::attack {

void attack(std::string_view input) {
  constexpr Index count = 50;
  const File names(input, File::Kind::mapped);
  refuses([&] {
    std::string text;
    const std::vector<std::string> concepts = support::read_concepts(names.path());
    // With CR LF, since a name may end in a CR.
    for (std::size_t i = 0; i < concepts.size(); ++i)
      text += fmt::format("{}\t{}\r\n", i, concepts[i]);
    const File again(text);
    expect_property(support::read_concepts(again.path()) == concepts, "concepts survive writing");
  });
  const support::Hypernyms pairs = support::read_hypernyms(names.path(), count);
  const support::Hypernyms all = support::closure(count, pairs);
  expect_property(support::closure(count, all) == all, "a closure is its own closure");
}

}  // namespace tapegrad::attack
