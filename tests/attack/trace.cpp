// Traces of training steps: whatever can be read agrees with itself, and can be compared.

#include "tapegrad/inspect/trace.h"

#include <algorithm>

#include "attack.h"
#include "tapegrad/inspect/trace_diff.h"

namespace tapegrad::attack {

void attack(std::string_view input) {
  const File file(input);
  const Trace step = read_trace(file.path());
  for (const TracedValue& value : step.values)
    for (const Index one : value.inputs)
      expect_property(one >= -1 - std::ssize(step.values) && one < std::ssize(step.values),
                      "inputs are values of the trace");
  const TraceDiff same = compare_traces(step, step, {.tolerance = 0});
  expect_property(same.values + same.gradients + same.alone == 0, "a trace agrees with itself");
  expect_property(same.pairs == std::ssize(step.values), "all its values have a partner");
  Trace other = step;
  std::reverse(other.values.begin(), other.values.end());
  other.framework += "pytorch";
  compare_traces(step, other);
  compare_traces(other, step);
}

}  // namespace tapegrad::attack
