// Questions about stories: what is read of a text ends with a whole sentence and keeps its limits.

#include "data/stories.h"

#include <algorithm>

#include "attack.h"

namespace tapegrad::attack {

void attack(std::string_view input) {
  constexpr Index words = 30;
  const File file(input, File::Kind::mapped);
  std::vector<bool> begins;
  const std::vector<support::Story> stories =
      support::read_stories(file.path(), {.sentences = 2, .words = words}, &begins);
  expect_property(stories.size() == begins.size() && begins.front(), "every question has a text");
  for (const support::Story& story : stories) {
    expect_property(!story.passage.empty() && std::ssize(story.passage) <= words,
                    "a passage keeps its limit");
    expect_property(story.question.back() == "?" || story.question.back().ends_with('?'),
                    "a question ends in a question mark");
    expect_property(story.answer.empty() || support::entity(story.answer) >= 0,
                    "an answer is an entity");
  }
}

}  // namespace tapegrad::attack
