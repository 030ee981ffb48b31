#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tapegrad::testing {

/// A fault in what an experiment measures, and the claims that fail under it, by their beginnings.
struct InjectedFault {
  std::string experiment, name;
  std::vector<std::string> claims;
  std::function<int()> run;  ///< the experiment with the fault; returns its exit code
};

/// All of them, from all files, for either scalar type.
inline std::vector<InjectedFault>& injected_faults() {
  static std::vector<InjectedFault> all;
  return all;
}

/// A fault as a file lists it: `subject` is what the experiment measures in place of the right
/// one.
template <class Subject>
struct Fault {
  std::string name;
  std::vector<std::string> claims;
  Subject subject;
};

/// A file enters its faults with a global object of this type.
struct Faults {
  template <class Report, class Subject>
  Faults(const std::string& experiment, void (*measure)(Report&, const Subject&),
         const std::vector<Fault<Subject>>& faults) {
    for (const Fault<Subject>& fault : faults)
      injected_faults().push_back({experiment, fault.name, fault.claims, [measure, fault] {
                                     Report report;
                                     measure(report, fault.subject);
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
