// What a probe has written, as it is read for a comparison and by the run that goes on.

#include "support/probe.h"

#include <fstream>

#include "attack.h"
#include "support/scratch.h"
#include "tapegrad/core/file.h"

namespace tapegrad::attack {

void attack(std::string_view input) {
  constexpr Index steps_done = 100;
  static const testing::Scratch folder;
  for (const char* name : {"probe_norms.csv", "probe_weights.csv"})
    std::ofstream(folder / name, std::ios::binary) << input;
  std::vector<support::NormRecord> records;
  const bool refused = refuses([&] { records = support::read_norm_records(folder.path); });
  std::erase_if(records, [](const auto& record) { return record.step > steps_done; });

  support::Probe probe{Fields()};
  probe.resume(folder.path, steps_done);
  probe.write(folder.path);
  if (refused || records.empty()) return;
  expect_property(support::read_norm_records(folder.path).size() == records.size(),
                  "a run that goes on keeps the records up to there");
}

}  // namespace tapegrad::attack
