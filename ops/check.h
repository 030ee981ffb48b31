#pragma once

#include <string>
#include <vector>

#include "tapegrad/ops/derivatives.h"
#include "tapegrad/ops/grad.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct CheckOptions {
  /// The step of the finite differences, relative to inputs of size 1.
  double step = sizeof(real) == 8 ? 1e-3 : 3e-2;
  /// The largest allowed error, relative to the larger of the two derivatives and 1.
  double tolerance = sizeof(real) == 8 ? 1e-6 : 2e-2;
  std::uint64_t seed = 1;
};

/// The result of a gradient check, for any test framework: `CHECK(check_gradient(f, {x}))`.
/// Example: `const CheckResult result = check_gradient([](auto& in) { return tanh(in[0]); }, {x})`
struct CheckResult {
  bool ok = true;
  double error = 0;          ///< the largest relative error
  std::string message = {};  ///< which derivative differs, and both values
  explicit operator bool() const { return ok; }
};

/// Compares the gradient of <f(x), u> for a random u, for each x, with central differences of
/// fourth order along random directions. f must be smooth within two steps of xs.
/// Example: `check_gradient([](auto& in) { return tanh(in[0]); }, {x}, {.tolerance = 1e-2}).ok`
CheckResult check_gradient(const Function& f, const std::vector<Tensor>& xs,
                           const CheckOptions& options = {});
/// Checks second derivatives: the same for the gradient as a function of xs and u.
/// Example: `check_second_gradient([](auto& in) { return tanh(in[0]); }, {x}).ok`
CheckResult check_second_gradient(const Function& f, const std::vector<Tensor>& xs,
                                  const CheckOptions& options = {});
/// Compares every entry of the Jacobian of f with respect to each x. Costs a sweep for each output
/// and four evaluations for each input.
/// Example: `check_jacobian([](auto& in) { return layer_norm(in[0]); }, {x}).message`
CheckResult check_jacobian(const Function& f, const std::vector<Tensor>& xs,
                           const CheckOptions& options = {});

}  // namespace tapegrad::TAPEGRAD_SCALAR
