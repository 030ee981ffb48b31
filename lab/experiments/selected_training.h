#pragma once

#include <string>

#include "experiments/comparison.h"
#include "problems/problem.h"
#include "tapegrad/train/optimizer_flags.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// An optimizer for people: "Adam\nconstant rate\nclipped to 10".
std::string in_words(const OptimizerFlags& optimizer);

/// Trains a net of the trial's system, see `norm_and_remedy`. Of its states after each interval the
/// one with the best validation is tested. The curve has the loss of the first batch, then after
/// each interval its mean training loss and the validation loss; traces have what is traced then.
/// Values: "validation", the best one; "training_loss" and "validation_loss" at the end; if the
/// trial is tested, also the values of `Trainee::test`, in the best state.
///   metric: of validations
/// Throws ArgumentError if the interval does not divide the steps, and what `norm_and_remedy`,
/// `Problem::trainee` and `set_remedy` throw.
Outcome train_selected(const problems::Problem& problem, const Metric& metric,
                       const TaskTrial& trial);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
