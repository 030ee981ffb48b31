#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tapegrad::testing {

/// An error in what an experiment measures, and the claims that fail under it, by their beginnings.
struct PlantedError {
  std::string experiment, name;
  std::vector<std::string> claims;
  std::function<int()> run;  ///< the experiment with the error; returns its exit code
};

/// All of them, from all files, for either scalar type.
inline std::vector<PlantedError>& planted_errors() {
  static std::vector<PlantedError> all;
  return all;
}

/// An error as a file lists it: `subject` is what the experiment measures in place of the right
/// one.
template <class Subject>
struct Wrong {
  std::string name;
  std::vector<std::string> claims;
  Subject subject;
};

/// A file enters its errors with a global object of this type.
struct Planted {
  template <class Report, class Subject>
  Planted(const std::string& experiment, void (*measure)(Report&, const Subject&),
          const std::vector<Wrong<Subject>>& errors) {
    for (const Wrong<Subject>& error : errors)
      planted_errors().push_back({experiment, error.name, error.claims, [measure, error] {
                                    Report report;
                                    measure(report, error.subject);
                                    return report.finish();
                                  }});
  }
};

/// y, with a gradient that is 1 % too large.
template <class Tensor>
Tensor steep(const Tensor& y) {
  return 1.01 * y - detach(0.01 * y);
}

}  // namespace tapegrad::testing
