#pragma once

#include <string>
#include <vector>

#include "tapegrad/ops/grad.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct CheckOptions {
  /// The step of the finite differences, relative to inputs of size 1.
  double step = sizeof(real) == 8 ? 1e-3 : 3e-2;
  /// The largest error allowed, relative to the larger of the two derivatives and 1.
  double tolerance = sizeof(real) == 8 ? 1e-6 : 2e-2;
  std::uint64_t seed = 1;
};

/// What a gradient check found; usable in any test framework: `CHECK(check_gradient(f, {x}))`.
struct CheckResult {
  bool ok = true;
  double error = 0;          ///< the largest relative error
  std::string message = "";  ///< which derivative differs, and the two figures
  explicit operator bool() const { return ok; }
};

/// Compares the gradient of <f(x), u> for a random u with differences along random directions, for
/// each x; central, of fourth order. f must be smooth within two steps of xs.
CheckResult check_gradient(const Function& f, const std::vector<Tensor>& xs,
                           const CheckOptions& options = {});
/// Does so with the gradient itself, as a function of xs and of u: second derivatives.
CheckResult check_second_gradient(const Function& f, const std::vector<Tensor>& xs,
                                  const CheckOptions& options = {});
/// Compares every entry of the Jacobian of f with respect to each x. Costs a sweep for each output
/// and four evaluations for each input.
CheckResult check_jacobian(const Function& f, const std::vector<Tensor>& xs,
                           const CheckOptions& options = {});

}  // namespace tapegrad::TAPEGRAD_SCALAR
