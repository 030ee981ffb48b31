#pragma once

#include <functional>
#include <string>
#include <vector>

#include "experiments/ledger.h"
#include "support/remedy.h"
#include "tapegrad/nn/layers/norm.h"
#include "tapegrad/train/learner.h"
#include "tapegrad/train/optimizer_flags.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// How to train.
struct DriftOptions {
  OptimizerFlags optimizer = {};
  Index measures = 20;  ///< in a run, or at each of its steps if it has fewer; 0: looks at nothing
  support::Remedy remedy = support::Remedy::none;
  /// Whether each weight that feeds a norm is put back to its initial length |W| after each step,
  /// of all its elements: what a norm divides by cannot grow with it.
  bool unit = false;
};

/// What a system does: its norm, and what is done to the weights that feed norms.
struct NormAndConstraints {
  NormSpec norm;
  support::Remedy remedy;
  bool unit;
};
/// "detach_mean+center+unit". The norm is one for `NormSpec` or, without a gain, rms_simple, or
/// rms_detached with a constant divisor. Throws ArgumentError for other names.
NormAndConstraints norm_and_constraints(const std::string& system);

/// The loss of a batch. What it draws, such as dropout, depends on the learner's seed and the step
/// alone.
Tensor batch_loss(const Learner& learner, Index step);

/// Which parameters feed norms, from a forward pass of the first batch: those whose common mode
/// changes nothing but the means over channels of what some norms read. None is known by name.
/// Throws TapeError for a net without norms.
support::FeedsNorms find_feeding(const Learner& learner);

/// Trains, and looks at norms and gradients at regular steps; throws TapeError if it is to look at
/// a net without norms. The learner's loss of a step must be the same as often as it is computed.
/// Values: of its `validate` and `test` after the last step. Traces:
///
///     ratio        |mu| / s of the rows of a norm, their mean, at the norm where it is largest
///     deviation    s at the last norm
///     cosine       of the gradient with the one that attached statistics give at the same weights
///     size         of the gradient, divided by the size of that one
///     common       size of the common mode in the gradients of what feeds norms, divided by theirs
///     weights      rms(c) / rms(V) of W = V + c 1^T with the common mode c, at the weight that
///                  feeds a norm and has the largest one
///     length       |W| / |W| before the first step, at the weight where it is largest
///     angle        between W before and after the step, in radians, the mean of these weights
///
/// and, for each norm by `of_norm`, at the last of these steps alone, "ratio", "deviation" and, of
/// the gradient with respect to the norm's input, "cosine" as above and "variance" over its
/// elements. Those do not see remedies.
///
/// The curve has the loss of the first batch, then means over a fiftieth of the steps. Calls `seen`
/// after each step.
Outcome train_watched(const Learner& task, const DriftOptions& options,
                      const std::function<void(double loss)>& seen = {});

/// The name of a norm's trace.   norm: its number from the input on, from 0
std::string of_norm(const std::string& trace, std::size_t norm);

/// The normalization of x, differentiated as if its statistics were attached. For AroundNorms.
Tensor with_attached_statistics(const Norm& norm, const Tensor& x, const AroundNorms::Apply& apply);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
