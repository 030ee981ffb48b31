#pragma once

#include <functional>
#include <string>
#include <vector>

#include "experiments/forms.h"
#include "tapegrad/nn/optimizers/optimizer.h"

/// A run is forked at some of its steps: a copy of the net goes on with another form of layer
/// normalization, then with layer normalization again.
namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// What stands in a copy for a while in place of layer normalization.
struct ForkArm {
  std::string name, norm;
};
/// The first keeps layer normalization. The last has an unnormalized forward pass; the others do
/// not change values.
const std::vector<ForkArm>& fork_arms();

/// A run between two steps. Its batches depend on the step alone.
struct ForkState {
  std::vector<Tensor> values;  ///< of the parameters
  Index steps;
  std::vector<tapegrad::Moments> moments;  ///< of the optimizer
};

/// How copies are made.
struct Forks {
  std::vector<ForkArm> arms = fork_arms();
  std::function<void(ForkState&)> carried = [](ForkState&) {};  ///< may change what a copy gets
};

struct ForkSizes {
  FormSizes net;              ///< all but its steps and rates
  std::vector<Index> points;  ///< steps after which the run is forked, ascending
  Index detached, recovery;   ///< steps with the other form, and steps after these
};

/// When validation losses are compared: before any step with the other form, after these steps, or
/// after the recovery.
enum class When { at_fork, at_once, later };

/// Trains with layer normalization, and forks at each point into each arm. Traces are validation
/// losses by the point of the fork: "NAME at the fork", "NAME at once" and "NAME later", where NAME
/// is an arm's, or "unforked" for the run itself at the same steps.
Outcome train_forks(const FormSetting& setting, double rate, const ForkSizes& sizes,
                    const support::ImageSets& sets, std::uint64_t seed, const Forks& forks = {});

/// By how many percent the validation losses of an arm exceed the unforked run's, by
/// the point of the fork. Throws DataError if traces are missing or have other points.
RunTrace costs(const Outcome& outcome, const std::string& arm, When when);
/// The costs at one point as a metric, less being better, for `better` and `equal`.
extern const Metric fork_cost;
Results costs_at(const Results& results, const std::string& arm, std::size_t point, When when);

/// The validation losses of the unforked runs, by which the costs at one point are divided.
std::vector<double> losses_at(const Results& results, std::size_t point, When when);

/// What must hold for all sizes.   results: of each optimizer
std::vector<Claim> fork_claims(const std::vector<Results>& results, const Forks& forks);
/// What was predicted before the runs. Speaks of optimizers that are among the results.
std::vector<JudgedClaim> fork_predictions(const std::vector<Results>& results);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
