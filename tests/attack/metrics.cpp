// The log of a run, as the run that resumes it reads it.

#include <filesystem>
#include <fstream>

#include "attack.h"
#include "support/scratch.h"
#include "tapegrad/io/file.h"
#include "tapegrad/train/json.h"
#include "tapegrad/train/run_log.h"

namespace tapegrad::attack {

void attack(std::string_view input) {
  constexpr Index steps_done = 100;
  static const testing::Scratch folder;
  const auto resumed = [&] {
    RunLog(folder.path, Json::object(), steps_done).write_rows();
    return read_text(folder / "metrics.jsonl");
  };
  std::filesystem::remove(folder / "metrics.csv");                 // another input's
  std::ofstream(folder / "config.json") << R"({"tapegrad": ""})";  // what follows is a log's
  std::ofstream(folder / "metrics.jsonl", std::ios::binary) << input;
  const std::string first = resumed();
  expect_property(resumed() == first, "rows that have been read once can be read again");
}

}  // namespace tapegrad::attack
