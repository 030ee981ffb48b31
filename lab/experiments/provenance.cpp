#include "experiments/provenance.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "tapegrad/core/error.h"
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

std::string built_commit() {
  const char* const of_test = std::getenv("TAPEGRAD_COMMIT");
  return of_test ? of_test : TAPEGRAD_COMMIT;
}

void expect_named_commit() {
  const std::string commit = built_commit();
  expect<DataError>(
      !commit.empty() && !commit.ends_with("-dirty"),
      "--runs: this program was built {}, so that what it keeps of a run would not "
      "name the code that trained it; commit all changes, build again, or train "
      "without --runs",
      commit.empty() ? "outside a repository" : fmt::format("with changes to commit {}", commit));
}

std::string built_version() {
  const std::string commit = built_commit();
  return "tapegrad " TAPEGRAD_VERSION + (commit.empty() ? "" : ", commit " + commit);
}

Json provenance() {
  return {{"commit", built_commit()},
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
