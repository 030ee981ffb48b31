// Command lines, one word per line: what is accepted can be resumed from a checkpoint.

#include <sstream>

#include "attack.h"
#include "trainer_flags.h"

namespace tapegrad::attack {

void attack(std::string_view input) {
  constexpr int wrong_usage = 2;
  std::istringstream lines{std::string(input)};
  std::vector<std::string> words;
  for (std::string word; std::getline(lines, word);) words.push_back(word.c_str());
  AttackedFlags given;
  std::map<std::string, std::string> values;
  const int code = given.run(words, [&] { values = given.training_values(); });
  expect_property(code == 0 || code == wrong_usage, "flags are accepted or wrong, nothing else");
  if (values.empty()) return;  // --help

  AttackedFlags resumed;
  const bool accepted = resumed.run({}, [&] { resumed.adopt(values, "FILE"); }) == 0;
  expect_property(accepted && resumed.training_values() == values, "flags survive a checkpoint");
}

}  // namespace tapegrad::attack
