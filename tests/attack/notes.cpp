// Notes of a checkpoint, a line each: what is accepted is accepted on the command line, too. A line
// is the name of a note and its value; without a value, the note is missing.

#include <fmt/format.h>

#include <sstream>

#include "attack.h"
#include "support/resume.h"
#include "support/run.h"
#include "trainer_flags.h"

namespace tapegrad::attack {
namespace {

std::string as_word(const support::Json& value) {
  if (value.is_string()) return value.get<std::string>();
  std::string list;
  for (const support::Json& each : value) list += (list.empty() ? "" : ",") + each.dump();
  return list;
}

}  // namespace

void attack(std::string_view input) {
  TrainerFlags trainer;
  std::map<std::string, std::string> notes = trainer.flags.training_values();
  std::istringstream lines{std::string(input)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t blank = line.find(' ');
    notes.erase(line.substr(0, blank));
    if (blank != std::string::npos) notes[line.substr(0, blank)] = line.substr(blank + 1);
  }
  refuses([&] {
    const auto mean =
        support::parsed_note(notes, "epoch_loss", "FILE", support::RunningMean::parse);
    expect_property(support::RunningMean::parse(mean.text()).text() == mean.text(),
                    "a mean survives a checkpoint");
  });

  trainer.flags.adopt(notes, "FILE");
  const auto values = trainer.flags.training_values();
  std::vector<std::string> words;
  for (const auto& [name, value] : values) {
    expect_property(notes.at(name) == value, "what a checkpoint says of a flag is its value");
    if (name != "program")
      words.push_back(fmt::format("--{}={}", name, as_word(support::Json::parse(value))));
  }
  TrainerFlags again;
  std::map<std::string, std::string> given;
  again.run(words, [&] { given = again.flags.training_values(); });
  expect_property(given == values, "the command line takes what a checkpoint says");
}

}  // namespace tapegrad::attack
