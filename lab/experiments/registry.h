#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

/// The experiments of the program `lab`. One registry holds those in single and in double
/// precision, so nothing here depends on the scalar type.
namespace tapegrad::registry {

struct Experiment {
  std::string name;     ///< on the command line and of its files
  std::string summary;  ///< one sentence
  /// Parses its own flags; argv[0] is "lab NAME". Returns the exit code of the program.
  std::function<int(int argc, char** argv)> run;
  bool divides_runs = false;  ///< among the processes of a cluster; others run in one process
};

/// What makes each of them.
inline std::vector<std::function<Experiment()>>& entered() {
  static std::vector<std::function<Experiment()>> makers;
  return makers;
}

/// A file registers its experiment with a global object of this type, before main begins. What it
/// is made of need not be there by then.
struct Entry {
  explicit Entry(std::function<Experiment()> make) { entered().push_back(std::move(make)); }
};

/// All experiments, by name.
inline std::map<std::string, Experiment> experiments() {
  std::map<std::string, Experiment> all;
  for (const auto& make : entered()) {
    Experiment made = make();
    all.emplace(made.name, std::move(made));
  }
  return all;
}

}  // namespace tapegrad::registry
