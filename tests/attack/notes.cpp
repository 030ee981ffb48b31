// Notes of a checkpoint, one per line: what is accepted is accepted on the command line, too. A
// line is the name of a note and its value; without a value, the note is missing.

#include <fmt/format.h>

#include <sstream>

#include "attack.h"
#include "tapegrad/train/json.h"
#include "tapegrad/train/resume.h"
#include "trainer_flags.h"

namespace tapegrad::attack {
namespace {

using Notes = std::map<std::string, std::string>;

Notes changed(Notes notes, std::string_view input) {
  std::istringstream lines{std::string(input)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t blank = line.find(' ');
    notes.erase(line.substr(0, blank));
    if (blank != std::string::npos) notes[line.substr(0, blank)] = line.substr(blank + 1);
  }
  return notes;
}

std::string as_word(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  std::string list;
  for (const Json& each : value) list += (list.empty() ? "" : ",") + each.dump();
  return list;
}

void adopt(const Notes& notes) {
  AttackedFlags trainer;
  Notes values;
  const int code = trainer.run({}, [&] {
    if (!refuses([&] { trainer.adopt(notes, "FILE"); })) values = trainer.training_values();
  });
  expect_property(code == 0, "a checkpoint of wrong notes is refused, and nothing else");
  if (values.empty()) return;
  std::vector<std::string> words;
  for (const auto& [name, value] : values) {
    expect_property(notes.at(name) == value, "a checkpoint notes the value of each flag");
    if (name != "program")
      words.push_back(fmt::format("--{}={}", name, as_word(Json::parse(value))));
  }
  AttackedFlags again;
  Notes given;
  again.run(words, [&] { given = again.training_values(); });
  expect_property(given == values, "the command line takes the notes of a checkpoint");
}

void resume(const Notes& notes) {
  const RunSteps steps{.total = 1000, .per_epoch = 30};
  const RunState state = resumed_state(notes, "FILE", steps, false);
  expect_property(resumed_state(state.notes(), "FILE", steps, false).notes() == state.notes(),
                  "the state of a run survives a checkpoint");
}

}  // namespace

void attack(std::string_view input) {
  Notes notes = AttackedFlags().training_values();
  notes.merge(RunState().notes());
  notes = changed(notes, input);
  adopt(notes);
  resume(notes);
}

}  // namespace tapegrad::attack
