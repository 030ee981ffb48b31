#pragma once

#include <vector>

#include "experiments/matrix.h"
#include "experiments/verdict.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// The claims of Ba et al. 2016 on their experiments, and what is asked of them here, judged by the
/// systems that have been trained.
std::vector<JudgedClaim> ba2016_claims(const Matrix& matrix);

/// What must hold for every size: recalls follow from ranks, and bounds are the sums of their
/// parts. Says nothing of tasks without runs.
std::vector<Claim> ba2016_mechanics(const Matrix& matrix);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
