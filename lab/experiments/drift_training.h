#pragma once

#include <functional>
#include <string>
#include <vector>

#include "experiments/ledger.h"
#include "support/remedy.h"
#include "tapegrad/nn/fields.h"
#include "tapegrad/nn/layers/norm.h"
#include "tapegrad/train/optimizer_flags.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// A network, what it learns from and how it is judged.
struct LearningTask {
  Fields fields;
  support::FeedsNorms feeds_norms;
  /// Draws a batch. What it returns computes its loss, as often as it is called.
  std::function<std::function<Tensor()>()> next;
  /// On data to choose the learning rate by, and on other data.
  std::function<double()> validation, test;
};

/// How to train.
struct DriftOptions {
  OptimizerFlags optimizer = {};
  Index steps = 300;
  Index measures = 20;  ///< in a run; divides steps
  support::Remedy remedy = support::Remedy::none;
};

/// Trains, and looks at norms and gradients at regular steps. Values: "validation" and "test".
/// Traces:
///
///     ratio        |mu| / s of the rows of a norm, their mean, at the norm where it is largest
///     deviation    s at the last norm
///     cosine       of the gradient with the one that attached statistics give at the same weights
///     size         of the gradient, divided by the size of that one
///     common       size of the common mode in the gradients of what feeds norms, divided by theirs
///     weights      rms(c) / rms(V) of W = V + c 1^T with the common mode c, at the weight that
///                  feeds a norm and has the largest one
///
/// and, for each norm by `of_norm`, at the last of these steps alone, "ratio", "deviation" and, of
/// the gradient with respect to the norm's input, "cosine" as above and "variance" over its
/// elements. Those do not see remedies.
///
/// The curve has the loss of the first batch, then means over a fiftieth of the steps. Calls `seen`
/// after each step.
Outcome train_watched(const LearningTask& task, const DriftOptions& options,
                      const std::function<void(double loss)>& seen = {});

/// The name of a norm's trace.   norm: its number from the input on, from 0
std::string of_norm(const std::string& trace, std::size_t norm);

/// The normalization of x, differentiated as if its statistics were attached. For AroundNorms.
Tensor with_attached_statistics(const Norm& norm, const Tensor& x, const AroundNorms::Apply& apply);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
