#include "tapegrad/nn/options.h"

#include <cmath>

#include "tapegrad/core/error.h"

namespace tapegrad {

Index expect_positive(const char* owner, const char* option, Index value) {
  expect(value >= 1, "{}: {} must be at least 1: {}", owner, option, value);
  return value;
}

Index expect_not_negative(const char* owner, const char* option, Index value) {
  expect(value >= 0, "{}: {} must not be negative: {}", owner, option, value);
  return value;
}

double expect_not_negative(const char* owner, const char* option, double value) {
  expect(value >= 0 && std::isfinite(value), "{}: {} must be finite and not negative: {}", owner,
         option, value);
  return value;
}

double expect_share(const char* owner, const char* option, double value) {
  expect(value >= 0 && value < 1, "{}: {} must lie in [0, 1): {}", owner, option, value);
  return value;
}

}  // namespace tapegrad
