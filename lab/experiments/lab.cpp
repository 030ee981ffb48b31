// The laboratory: runs one of its experiments. Each is a file in float32/ or float64/ that
// registers itself.

#include <fmt/format.h>

#include "experiments/registry.h"
#include "experiments/report.h"
#include "tapegrad/cluster/cluster.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/output.h"

using namespace tapegrad;

namespace {

constexpr int wrong_usage = 2;

std::string names(bool dividing_only) {
  std::string text;
  for (const auto& [name, experiment] : registry::experiments())
    if (experiment.divides_runs || !dividing_only) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string usage() {
  std::string text = fmt::format(
      "Usage: lab EXPERIMENT [FLAGS]\n"
      "       mpirun -n PROCESSES lab EXPERIMENT [FLAGS]\n"
      "       lab EXPERIMENT --help\n"
      "       lab index --report DIR\n"
      "       lab --help | --version\n\n"
      "With mpirun, the processes divide the runs among them, in: {}.\n"
      "`lab index` writes a page that links to the reports in DIR.\n\n"
      "{}\n\n"
      "Experiments:\n",
      names(true), lab::on_verdicts);
  for (const auto& [name, experiment] : registry::experiments())
    text += fmt::format("  {:12}  {}\n", name, experiment.summary);
  return text;
}

// Reports and returns true under mpirun, which this experiment does not support.
bool refused(const registry::Experiment& experiment) {
  if (experiment.divides_runs) return false;  // it makes the only cluster of this process
  const Cluster cluster;
  if (cluster.size() > 1 && cluster.is_first())
    write_diagnostic(
        fmt::format("lab {}: it has no runs to divide among processes, unlike {}; start it "
                    "without mpirun\n",
                    experiment.name, names(true)));
  return cluster.size() > 1;
}

int write_index(int argc, char** argv) {
  Flags flags(argv[0], "Writes a page that links to the reports of experiments.");
  std::string directory = ".";
  flags.output("--report", directory, "Directory of the reports and of the page",
               {.files = [](const std::string& in) { return std::vector{in + "/index.html"}; }});
  return flags.run(argc, argv, [&] {
    lab::write_index(directory);
    return 0;
  });
}

int finish() { return results_are_written() ? 0 : 1; }

}  // namespace

int main(int argc, char** argv) try {
  prepare_output();
  const std::string word = argc > 1 ? argv[1] : "";
  if (word == "--help" || word == "-h") {
    write_help(usage());
    return finish();
  }
  if (word == "--version") {
    write_help(fmt::format("lab of tapegrad {}\n", TAPEGRAD_VERSION));
    return finish();
  }
  std::string program = "lab " + word;
  if (argc > 1) argv[1] = program.data();
  if (word == "index") return write_index(argc - 1, argv + 1);
  const std::map<std::string, registry::Experiment> experiments = registry::experiments();
  const auto found = experiments.find(word);
  if (found == experiments.end()) {
    write_diagnostic(word.empty() ? usage()
                                  : fmt::format("lab: unknown experiment {}; available: {}\n",
                                                beginning(word), names(false)));
    return wrong_usage;
  }
  const registry::Experiment& experiment = found->second;
  if (refused(experiment)) return wrong_usage;
  return experiment.run(argc - 1, argv + 1);
} catch (const std::exception& error) {
  write_diagnostic(fmt::format("lab: {}\n", error.what()));
  return 1;
}
