#pragma once

#include <functional>

#include "lab/comparison.h"
#include "problems/problem.h"
#include "tapegrad/nn/fields.h"
#include "tapegrad/train/optimizer_flags.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

using problems::Validation;

/// A net in training. Of its states after each interval the one with the best validation is tested.
struct SelectedTraining {
  Fields net;
  OptimizerFlags optimizer;
  Index steps;
  Index eval_interval;                     ///< steps between two validations; divides `steps`
  std::function<Tensor(Index step)> loss;  ///< of a batch, in the unit of curves; from step 0
  std::function<Validation()> validate;
  std::function<void(Outcome&)> test;  ///< enters the value "test", and items
  /// Called in each step with the gradients as they are before they are clipped.
  std::function<void(const std::vector<Tensor>& gradients)> gradients = {};
};

/// An optimizer for people: "Adam\nconstant rate\nclipped to 10".
std::string in_words(const OptimizerFlags& optimizer);

/// Trains. The curve has the loss of the first batch, then after each interval its mean training
/// loss and the validation loss; traces have what is traced then. Values: "validation", the best
/// one; "training_loss" and "validation_loss" at the end; with `tested` those of `test`, in the
/// best state.
///   metric: of validations   seen: called after each step
/// Throws ArgumentError if the interval does not divide the steps.
Outcome train_selected(const SelectedTraining& training, const Metric& metric, bool tested,
                       const std::function<void(Index step, double loss)>& seen);

/// The same for a net of the trial's system. Throws what `Problem::learner` throws.
Outcome train_selected(const problems::Problem& problem, const Metric& metric,
                       const TaskTrial& trial);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
