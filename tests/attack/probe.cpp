// The records of a probe, of norms or of weights, as a resumed run reads them.

#include "tapegrad/train/probe.h"

#include <fstream>

#include "attack.h"
#include "support/scratch.h"
#include "tapegrad/io/file.h"
#include "tapegrad/train/run_log.h"

namespace tapegrad::attack {
namespace {

void resume(std::string_view input, const char* name) {
  constexpr Index steps_done = 100;
  const testing::Scratch folder;
  std::ofstream(folder / name, std::ios::binary) << input;
  const auto resumed = [&] {
    Probe probe{Fields()};
    probe.resume(folder.path, steps_done);
    probe.write(folder.path);
    return read_text(folder / name);
  };
  const std::string first = resumed();
  expect_property(resumed() == first, "records that have been read once can be read again");
}

}  // namespace

void attack(std::string_view input) {
  for (const char* name : {probe_norms_file, probe_weights_file})
    refuses([&] { resume(input, name); });
}

}  // namespace tapegrad::attack
