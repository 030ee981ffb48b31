#include "experiments/fork.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tapegrad/tapegrad.h"
#include "tapegrad/train/optimizer_flags.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

constexpr const char *attached_form = "layer_simple", *unforked_trace = "unforked",
                     *kept_arm = "kept";

// Percent of the loss within which costs are called equal.
constexpr double most_called_equal = 5;

// A net in training.
class ForkedNet {
 public:
  ForkedNet(Layer net, const OptimizerFlags& optimizer, const support::ImageSets& sets,
            EpochBatches<ImageSet>& batches)
      : net_(std::move(net)),
        optimizer_(optimizer.make_optimizer(parameters(net_))),
        sets_(sets),
        batches_(batches) {}

  // Goes on until it has taken so many steps.
  void train_until(Index steps) {
    while (optimizer_->steps() < steps) {
      const auto& [images, labels] = batches_.at(optimizer_->steps());
      const Tape tape;
      optimizer_->step(grad(cross_entropy(net_(images), labels), optimizer_->parameters()));
    }
  }

  double validation() const { return support::mean_cross_entropy(net_, sets_.validation); }

  ForkState state() const {
    ForkState state{{}, optimizer_->steps(), optimizer_->moments()};
    for (const Parameter& parameter : optimizer_->parameters())
      state.values.push_back(parameter.value());
    return state;
  }
  void restore(const ForkState& state) {
    std::vector<Parameter> all = optimizer_->parameters();
    for (std::size_t i = 0; i < all.size(); ++i) all[i].set(state.values[i]);
    optimizer_->restore(state.steps, state.moments);
  }

 private:
  Layer net_;
  std::unique_ptr<Optimizer> optimizer_;
  const support::ImageSets& sets_;
  EpochBatches<ImageSet>& batches_;
};

constexpr When all_times[] = {When::at_fork, When::at_once, When::later};

std::string trace_name(const std::string& arm, When when) {
  static constexpr const char* names[] = {"at the fork", "at once", "later"};
  return fmt::format("{} {}", arm, names[static_cast<int>(when)]);
}

Index step_of(Index point, When when, const ForkSizes& sizes) {
  return point + (when == When::at_fork   ? 0
                  : when == When::at_once ? sizes.detached
                                          : sizes.detached + sizes.recovery);
}

// The sizes of all costs of an arm at this time.
std::vector<double> sizes_of(const std::vector<Results>& results, const std::string& arm,
                             When when) {
  std::vector<double> sizes;
  for (const Results& optimizer : results)
    for (const Outcome& run : optimizer.runs)
      for (const auto& [point, cost] : costs(run, arm, when)) sizes.push_back(std::abs(cost));
  return sizes;
}

bool keeps_values(const ForkArm& arm) { return !NormSpec(arm.norm).statistics.identity_forward; }

}  // namespace

const Metric fork_cost{.value = "cost"};

const std::vector<ForkArm>& fork_arms() {
  static const std::vector<ForkArm> arms{
      {kept_arm, attached_form},
      {"mean detached", "detach_mean"},
      {"deviation detached", "detach_variance"},
      {"both detached", "detach"},
      {"forward alone", "detach:factor=1"},
      {"backward alone", "layer_simple:forward=identity,factor=1"}};
  return arms;
}

Outcome train_forks(const FormSetting& setting, double rate, const ForkSizes& sizes,
                    const support::ImageSets& sets, std::uint64_t seed, const Forks& forks) {
  EpochBatches<ImageSet> batches(sets.train, sizes.net.batch_size, seed);
  const auto make = [&](const std::string& norm) {
    Random random(seed);
    return ForkedNet(make_form_net(norm, setting, sizes.net, random),
                     {.optimizer = setting.optimizer, .learning_rate = rate}, sets, batches);
  };
  std::set<Index> stops;
  for (const Index point : sizes.points)
    for (const When when : all_times) stops.insert(step_of(point, when, sizes));
  ForkedNet net = make(attached_form);
  std::map<Index, ForkState> states;
  std::map<Index, double> validations;
  for (const Index step : stops) {
    net.train_until(step);
    states.emplace(step, net.state());
    validations[step] = net.validation();
  }

  Outcome outcome;
  const auto enter = [&](const std::string& arm, When when, Index point, double loss) {
    outcome.traces[trace_name(arm, when)].emplace_back(point, loss);
  };
  for (const Index point : sizes.points)
    for (const When when : all_times)
      enter(unforked_trace, when, point, validations.at(step_of(point, when, sizes)));
  for (const ForkArm& arm : forks.arms) {
    ForkedNet copy = make(arm.norm);
    for (const Index point : sizes.points) {
      ForkState state = states.at(point);
      forks.carried(state);
      copy.restore(state);
      enter(arm.name, When::at_fork, point, copy.validation());
      copy.train_until(step_of(point, When::at_once, sizes));
      enter(arm.name, When::at_once, point, copy.validation());
      net.restore(copy.state());
      net.train_until(step_of(point, When::later, sizes));
      enter(arm.name, When::later, point, net.validation());
    }
  }
  return outcome;
}

RunTrace costs(const Outcome& outcome, const std::string& arm, When when) {
  RunTrace found = trace_of(outcome, trace_name(arm, when));
  const RunTrace& reference = trace_of(outcome, trace_name(unforked_trace, when));
  expect_part(std::ranges::equal(found, reference, {}, &RunTrace::value_type::first,
                                 &RunTrace::value_type::first),
              outcome, fmt::format("{} is not forked where the run was measured", arm));
  for (std::size_t i = 0; i < found.size(); ++i)
    found[i].second = 100 * (found[i].second / reference[i].second - 1);
  return found;
}

std::vector<double> losses_at(const Results& results, std::size_t point, When when) {
  std::vector<double> losses;
  for (const Outcome& run : results.runs)
    losses.push_back(trace_of(run, trace_name(unforked_trace, when)).at(point).second);
  return losses;
}

Results costs_at(const Results& results, const std::string& arm, std::size_t point, When when) {
  Results found{arm};
  for (const Outcome& run : results.runs)
    found.runs.push_back({.values = {{fork_cost.value, costs(run, arm, when).at(point).second}}});
  return found;
}

std::vector<Claim> fork_claims(const std::vector<Results>& results, const Forks& forks) {
  double of_kept = 0, at_fork = 0, least = INFINITY;
  for (const ForkArm& arm : forks.arms) {
    if (arm.name == kept_arm) {
      for (const When when : all_times)
        of_kept = std::max(of_kept, std::ranges::max(sizes_of(results, arm.name, when)));
      continue;
    }
    least = std::min(least, std::ranges::min(sizes_of(results, arm.name, When::at_once)));
    if (keeps_values(arm))
      at_fork = std::max(at_fork, std::ranges::max(sizes_of(results, arm.name, When::at_fork)));
  }
  return {{"A copy that keeps layer normalization is the run itself",
           fmt::format("largest cost {:.2g} %", of_kept), of_kept == 0, "exact"},
          {"At the fork, forms with normalized values have the loss of layer normalization",
           fmt::format("largest cost {:.1e} %", at_fork), at_fork < 1e-3, "below 0.001 %"},
          {"After some steps, every other copy has another loss",
           fmt::format("smallest cost {:.1e} %", least), least > 0, "above 0"}};
}

std::vector<JudgedClaim> fork_predictions(const std::vector<Results>& results) {
  std::vector<JudgedClaim> claims;
  for (const Results& trained : results) {
    const bool adam = trained.system == "adam";
    const std::string with = adam ? "With Adam, " : "With momentum, ";
    const RunTrace points = costs(trained.runs.front(), kept_arm, When::at_once);
    const std::size_t last = points.size() - 1;
    const auto at = [&](const char* arm, std::size_t point, When when) {
      return costs_at(trained, arm, point, when);
    };
    const auto predict = [&](const std::string& statement, const Judgement& judgement) {
      claims.push_back({"", with + statement, "in % of the loss", judgement});
    };
    // That a statement is true of every fork.
    const auto everywhere = [&](const auto& judge) {
      std::vector<std::pair<std::string, Judgement>> parts;
      for (std::size_t point = 0; point <= last; ++point)
        parts.emplace_back(fmt::format("at {}", points[point].first), judge(point));
      return all_of(parts);
    };
    const auto cheaper = [&](const char* a, const char* b) {
      return everywhere([&](std::size_t point) {
        return better(fork_cost, at(a, point, When::at_once), at(b, point, When::at_once));
      });
    };
    const auto within = [&](const char* arm, std::size_t point, When when) {
      return equal(fork_cost, at(kept_arm, point, when), at(arm, point, when), most_called_equal);
    };
    if (adam) {
      predict("a detached mean costs more at the first fork than at the last",
              better(fork_cost, at("mean detached", last, When::at_once),
                     at("mean detached", 0, When::at_once)));
      predict("a detached mean costs more than a detached deviation at every fork",
              cheaper("deviation detached", "mean detached"));
    } else {
      predict("a detached mean changes the loss by less than 5 % at every fork",
              everywhere([&](std::size_t point) {
                return within("mean detached", point, When::at_once);
              }));
      predict("a detached deviation costs more than a detached mean at every fork",
              cheaper("mean detached", "deviation detached"));
    }
    predict("what is detached at the first fork still costs something after the recovery",
            better(fork_cost, at(kept_arm, 0, When::later), at("both detached", 0, When::later)));
    predict(
        "what is detached at the last fork changes the loss by less than 5 % after the recovery",
        within("both detached", last, When::later));
  }
  return claims;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
