#pragma once

#include <map>
#include <string>

/// The experiments of the program `lab`. One registry holds those in single and in double
/// precision, so nothing here depends on the scalar type.
namespace tapegrad::registry {

struct Experiment {
  std::string name;     ///< on the command line and of its files
  std::string summary;  ///< one sentence
  /// Parses its own flags; argv[0] is "lab NAME". Returns the exit code of the program.
  int (*run)(const Experiment& self, int argc, char** argv);
  bool divides_runs = false;  ///< among the processes of a cluster; others run in one process
};

/// All experiments, by name.
inline std::map<std::string, Experiment>& experiments() {
  static std::map<std::string, Experiment> entered;
  return entered;
}

/// A file registers its experiment with a global object of this type, before main begins.
struct Entry {
  explicit Entry(const Experiment& experiment) {
    experiments().emplace(experiment.name, experiment);
  }
};

}  // namespace tapegrad::registry
