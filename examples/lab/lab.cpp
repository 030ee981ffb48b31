// The laboratory: runs one of its experiments. Each is a file in float32/ or float64/ that
// registers itself.

#include <fmt/format.h>

#include "lab/registry.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/output.h"

using namespace tapegrad;

namespace {

constexpr int wrong_usage = 2;

std::string usage() {
  std::string text =
      "Usage: lab EXPERIMENT [FLAGS]\n"
      "       lab EXPERIMENT --help\n"
      "       lab --help | --version\n\n"
      "Experiments:\n";
  for (const auto& [name, experiment] : registry::experiments())
    text += fmt::format("  {:12}  {}\n", name, experiment.summary);
  return text;
}

std::string names() {
  std::string text;
  for (const auto& [name, experiment] : registry::experiments())
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

int finish() { return results_are_written() ? 0 : 1; }

}  // namespace

int main(int argc, char** argv) {
  prepare_output();
  const std::string word = argc > 1 ? argv[1] : "";
  if (word == "--help" || word == "-h") {
    write_result(usage());
    return finish();
  }
  if (word == "--version") {
    write_result(fmt::format("lab of tapegrad {}\n", TAPEGRAD_VERSION));
    return finish();
  }
  const auto found = registry::experiments().find(word);
  if (found == registry::experiments().end()) {
    write_diagnostic(word.empty() ? usage()
                                  : fmt::format("lab: unknown experiment {}; available: {}\n",
                                                beginning(word), names()));
    return wrong_usage;
  }
  std::string program = "lab " + word;
  argv[1] = program.data();
  return found->second.run(found->second, argc - 1, argv + 1);
}
