#include "experiments/provenance.h"

#include <fmt/format.h>

#include <fstream>
#include <thread>

#include "tapegrad/core/machine/instruction_set.h"
#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

// The name that Linux gives the processor; empty where it gives none, as on ARM.
std::string processor_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(": ") + 2);
  return "";
}

}  // namespace

std::string seeds_of(const Flags& flags) {
  const Json values = flags.values();
  if (!values.contains("seed")) return "";
  const auto first = values["seed"].get<std::uint64_t>();
  const auto count = values.value("seeds", std::uint64_t{1});
  return count == 1 ? fmt::format("{}", first) : fmt::format("{} to {}", first, first + count - 1);
}

std::string built_version() {
  const std::string commit = TAPEGRAD_COMMIT;
  return "tapegrad " TAPEGRAD_VERSION + (commit.empty() ? "" : ", commit " + commit);
}

Json provenance() {
  return {{"commit", TAPEGRAD_COMMIT},
          {"compiler", __VERSION__},
          {"machine", machine()},
          {"threads", fmt::format("{}", threads())}};
}

std::string machine() {
  const std::string model = processor_model();
  return fmt::format("{}{} processors, {}", model.empty() ? "" : model + ", ",
                     std::thread::hardware_concurrency(), instruction_set());
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
