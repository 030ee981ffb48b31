#pragma once

#include <string>
#include <vector>

#include "experiments/matrix.h"
#include "experiments/matrix_task.h"

/// "Factorial": what the parts of layer normalization gain, each alone and together, in nets that
/// need a norm and in nets that do not.
namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// Tasks with either optimizer. On the first six, small Transformers, all sixteen forms and RMS
/// norm are trained: these are for exploration. The others are for confirmation, with the eight
/// forms of the factor 1, which cross the forward pass with both projections, layer normalization,
/// its forward pass with the factor 1/s, and RMS norm. The last two, "lstm_adam" and
/// "lstm_momentum", have the norms in the cells of LSTMs that predict drawings of Omniglot.
const Paper& factorial_paper();
/// The tasks that are conditions, see `condition_tasks`.
std::vector<MatrixTask> factorial_tasks(const std::vector<std::string>& names,
                                        const problems::Origin& origin, problems::Size size);

/// How far layer normalization is ahead of no norm with the seeds that chose their rates, in
/// margins of `margin_of`. Settings below 3 do not need a norm, and decide nothing.
double assay(const MatrixColumn& column);
/// What a task is for.
enum class Purpose { exploration, confirmation, control };
/// A control is expected to need no norm.
Purpose purpose_of(const MatrixColumn& column);

/// What was predicted of the tasks for confirmation, over settings: a mixed model with settings as
/// random effects, which for as many seeds in each is a t-test of their means, with Holm's
/// correction over its three endpoints; and an exact sign test beside it. Effects are in margins.
///   matrix: of one optimizer
std::vector<JudgedClaim> factorial_predictions(const Matrix& matrix, const std::string& optimizer);

/// What must hold for all sizes.
std::vector<Claim> factorial_claims(const Matrix& matrix);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
