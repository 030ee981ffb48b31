#include "tapegrad/core/options.h"

#include <cmath>
#include <set>

namespace tapegrad::TAPEGRAD_SCALAR {

Index expect_positive(const char* owner, const char* option, Index value) {
  expect<ArgumentError>(value >= 1, "{}: {} must be at least 1: {}", owner, option, value);
  return value;
}

Index expect_not_negative(const char* owner, const char* option, Index value) {
  expect<ArgumentError>(value >= 0, "{}: {} must not be negative: {}", owner, option, value);
  return value;
}

double expect_not_negative(const char* owner, const char* option, double value) {
  expect<ArgumentError>(value >= 0 && std::isfinite(value),
                        "{}: {} must be finite and not negative: {}", owner, option, value);
  return value;
}

double expect_share(const char* owner, const char* option, double value) {
  expect<ArgumentError>(value >= 0 && value < 1, "{}: {} must lie in [0, 1): {}", owner, option,
                        value);
  return value;
}

void expect_distinct(const char* owner, const std::vector<Parameter>& parameters) {
  std::set<const void*> slots;
  for (const Parameter& parameter : parameters) {
    expect<ArgumentError>(parameter.defined(), "{}: a parameter holds no tensor: {}", owner,
                          parameter.name());
    expect<ArgumentError>(slots.insert(parameter.identity()).second,
                          "{}: a parameter is listed twice: {} {}", owner, parameter.name(),
                          parameter.shape());
  }
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
