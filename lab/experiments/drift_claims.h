#pragma once

#include <map>
#include <string>
#include <vector>

#include "experiments/detaching.h"
#include "experiments/verdict.h"

/// What drift claims of runs that `train_watched` has made.
namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// By which runs are compared: the loss or error on held-out data.
extern const Metric held_out;

/// The largest value of a trace; NaN if it has one.
double largest(const RunTrace& trace);

/// The mean of a trace's values.
double average(const RunTrace& trace);

/// The largest value of a trace in the first tenth of its steps, at least one of which it has.
double largest_of_first_tenth(const RunTrace& trace);

/// Spearman's rank correlation; values that are equal share the mean of their ranks. 0 if all
/// values of one are equal. Throws ArgumentError unless both have the same number of values, 2 or
/// more.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

/// What a detached mean costs in a setting, and what drifts there.
struct DriftCost {
  double cost;                        ///< in percent of the loss with the mean attached
  double ratio, weights;              ///< the largest of these traces of the detached run
  double first_ratio, first_weights;  ///< the same in the first tenth of the steps
};

/// The rank correlation of the costs of some settings with what is to predict them.
double correlation(const std::vector<DriftCost>& settings, double DriftCost::*predictor);

/// Predicted before any was trained, of the settings of each task: that rms(c) / rms(V) of the
/// weights orders the costs better than |mu| / s does, and that in the first tenth of the steps it
/// has a rank correlation of 0.5 or more with them. Supported if it is so in all tasks,
/// contradicted if in none.
std::vector<JudgedClaim> predictor_claims(
    const std::map<std::string, std::vector<DriftCost>>& by_task);

/// The mathematics of the gradients of what feeds norms, in each of the settings.
Claim common_mode_claim(const std::vector<ByNorm>& settings);

/// Xu et al. 2019, table 3: detaching the mean costs less than detaching the scale.
///   run: its name, for people
JudgedClaim cheaper_mean_claim(const std::string& run, const Results& detached_mean,
                               const Results& detached_scale);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
