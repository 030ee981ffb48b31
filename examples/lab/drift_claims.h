#pragma once

#include <string>
#include <vector>

#include "lab/claim.h"
#include "lab/detaching.h"

/// What drift claims of trainings that `train_watched` has made.
namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// By which trainings are compared: the loss or error on held-out data.
extern const Metric held_out;

/// The largest value of a trace; NaN if it has one.
double largest(const Trace& trace);

/// What mathematics says of the gradients of what feeds norms, in each of the settings.
Claim common_mode_claim(const std::vector<ByNorm>& settings);

/// Xu et al. 2019, table 3: detaching the mean costs less than detaching the scale.
///   training: its name, for people
JudgedClaim cheaper_mean_claim(const std::string& training, const Results& detached_mean,
                               const Results& detached_scale);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
