#pragma once

#include <functional>
#include <string>
#include <utility>

#include "tapegrad/nn/fields.h"
#include "tapegrad/nn/layers/norm.h"
#include "tapegrad/nn/optimizers/optimizer.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// What may stand in for the gradient of a detached mean.
///
///     project    takes the common mode out of the gradients of all that feeds norms
///     center     takes it out of their weights, after each step
///     penalty    adds 0.01 mean(mu^2 / s^2) of each norm to the loss, with s constant
///     clip       lets the mean's gradient through where |mu| > s
enum class Remedy { none, project, center, penalty, clip };

/// Throws ArgumentError for other names.
Remedy remedy_of(const std::string& name);
/// The norm and the remedy of a system: "detach_mean+center". Without a "+", the norm alone.
/// Throws what `remedy_of` throws.
std::pair<std::string, Remedy> norm_and_remedy(const std::string& system);

/// Whether the outputs of a parameter ("blocks.0.feed_forward.down.weight") go into a norm by sums
/// alone. Its common mode, the mean over outputs, then changes nothing but the mean of what the
/// norm reads; but if a norm reads all positions of an image together, the common mode of filters
/// is a map, and it is seen.
using FeedsNorms = std::function<bool(const std::string& parameter)>;

/// Sets what `project` and `center` do to the parameters that feed norms. Throws ArgumentError if
/// there are none.
void set_remedy(Optimizer& optimizer, const Fields& net, const FeedsNorms& feeds_norms,
                Remedy remedy);
/// The loss, with what `penalty` and `clip` do to its norms.
Tensor remedied(Remedy remedy, const std::function<Tensor()>& loss);

struct NormMoments {
  Tensor mu, s;
};
/// The moments of all elements that a norm normalizes together.
NormMoments moments(const Norm& norm, const Tensor& x);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
