#include "experiments/drift_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tapegrad/core/error.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/learner.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

// The norms in one forward pass, from the input on, and the gradients of the loss.
struct PassStatistics {
  std::vector<double> ratios, deviations;        // |mu| / s and s, their means over rows
  std::vector<Tensor> at_inputs, at_parameters;  // gradients: of each norm's input, of parameters
};

enum class Statistics { own, attached };

// Records on the tape of the step.
PassStatistics measure_pass(const Learner& task, Index step, Statistics statistics) {
  PassStatistics found;
  std::vector<Tensor> inputs;
  const AroundNorms around([&](const Norm& norm, const Tensor& x, const AroundNorms::Apply& apply) {
    {
      const NoGrad aside;
      const auto [mu, s] = support::moments(norm, x);
      found.ratios.push_back(mean(abs(mu) / s).item());
      found.deviations.push_back(mean(s).item());
    }
    inputs.push_back(x);
    return statistics == Statistics::attached ? with_attached_statistics(norm, x, apply) : apply(x);
  });
  const Tensor value = batch_loss(task, step);
  found.at_inputs = grad(value, inputs, {.keep = true});
  found.at_parameters = grad(value, parameters(task.net));
  return found;
}

double inner(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) total += sum(a[i] * b[i]).item();
  return total;
}

// The size of the common mode in the gradients of what feeds norms, beside these gradients.
double common_share(const Fields& net, const support::FeedsNorms& feeds_norms,
                    const std::vector<Tensor>& gradients) {
  double common = 0, all = 0;
  const std::vector<NamedParameter>& named = net.parameters();
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!feeds_norms(named[i].name)) continue;
    const Tensor& g = gradients[i];
    common += sum(square(g - centered(g, Centering::outputs))).item();
    all += sum(square(g)).item();
  }
  return std::sqrt(common / all);
}

double length(const Tensor& w) { return std::sqrt(sum(square(w)).item()); }

// In radians; exact also for small angles.
double angle(const Tensor& a, const Tensor& b) {
  return 2 * std::asin(std::min(1.0, length(a / length(a) - b / length(b)) / 2));
}

// The weights that feed norms, without biases, and their lengths when this was made.
class FeedingWeights {
 public:
  FeedingWeights(const Fields& net, const support::FeedsNorms& feeds_norms) {
    for (const auto& [name, parameter] : net.parameters())
      if (parameter.shape().rank() >= 2 && feeds_norms(name)) {
        weights_.push_back(parameter);
        lengths_.push_back(length(parameter));
      }
  }

  std::vector<Tensor> values() const {
    std::vector<Tensor> values;
    for (const Parameter& weight : weights_) values.push_back(weight.value());
    return values;
  }
  void restore_lengths() {
    for (std::size_t i = 0; i < weights_.size(); ++i)
      weights_[i].set(weights_[i].value() * (lengths_[i] / length(weights_[i])));
  }
  double largest_length() const {
    double most = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i)
      most = std::max(most, length(weights_[i]) / lengths_[i]);
    return most;
  }
  // rms(c) / rms(V) of W = V + c 1^T, the largest one.
  double largest_common_mode() const {
    double most = 0;
    for (const Tensor& w : values()) {
      const Tensor v = centered(w, Centering::outputs);
      most = std::max<double>(most, std::sqrt(sum(square(w - v)).item() / sum(square(v)).item()));
    }
    return most;
  }
  double mean_angle(const std::vector<Tensor>& before) const {
    RunningMean mean;
    for (std::size_t i = 0; i < weights_.size(); ++i) mean.add(angle(before[i], weights_[i]));
    return mean.value();
  }

 private:
  std::vector<Parameter> weights_;
  std::vector<double> lengths_;
};

double cosine(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return inner(a, b) / std::sqrt(inner(a, a) * inner(b, b));
}

// Adds a point to each trace but the one of angles.
void measure(Outcome& outcome, Index step, const Learner& task,
             const support::FeedsNorms& feeds_norms, const FeedingWeights& weights,
             const std::vector<Tensor>& gradients) {
  const PassStatistics own = measure_pass(task, step - 1, Statistics::own),
                       attached = measure_pass(task, step - 1, Statistics::attached);
  const auto trace = [&](const std::string& name, double value) {
    outcome.traces[name].emplace_back(step, value);
  };
  trace("ratio", *std::max_element(own.ratios.begin(), own.ratios.end()));
  trace("deviation", own.deviations.back());
  trace("cosine", cosine(gradients, attached.at_parameters));
  trace("size", std::sqrt(inner(gradients, gradients) /
                          inner(attached.at_parameters, attached.at_parameters)));
  trace("common", common_share(task.net, feeds_norms, gradients));
  trace("weights", weights.largest_common_mode());
  trace("length", weights.largest_length());
  for (std::size_t i = 0; i < own.ratios.size(); ++i) {
    const auto last = [&](const char* name, double value) {
      outcome.traces[of_norm(name, i)] = {{step, value}};
    };
    last("ratio", own.ratios[i]);
    last("deviation", own.deviations[i]);
    last("cosine", cosine({own.at_inputs[i]}, {attached.at_inputs[i]}));
    last("variance", var(own.at_inputs[i]).item());
  }
}

}  // namespace

Tensor with_attached_statistics(const Norm& norm, const Tensor& x,
                                const AroundNorms::Apply& apply) {
  const NormOptions& found = norm.spec.statistics;
  if (!found.detach_mean && !found.detach_scale) return apply(x);
  NormOptions attached = found;
  attached.detach_mean = attached.detach_scale = false;
  return normalize(x, norm.fields_of(x.shape()), attached);
}

NormAndConstraints norm_and_constraints(const std::string& system) {
  constexpr std::string_view unit = "+unit";
  const bool is_unit = system.ends_with(unit);
  const auto [name, remedy] =
      support::norm_and_remedy(system.substr(0, system.size() - (is_unit ? unit.size() : 0)));
  const bool is_rms = name == "rms_simple" || name == "rms_detached";
  NormSpec norm(is_rms ? "rms" : name);
  if (is_rms) norm.affine = false;
  norm.statistics.detach_scale |= name == "rms_detached";
  return {norm, remedy, is_unit};
}

Tensor batch_loss(const Learner& learner, Index step) {
  Random random = Random(learner.seed).stream(1).stream(step);
  return learner.loss(step, {0, 0, learner.loss.rows(step)}, random);
}

support::FeedsNorms find_feeding(const Learner& learner) {
  Random random(1);
  const Tape tape;
  // A sum of what norms read that is blind to means over channels, and stops at every norm.
  Tensor total = zeros({});
  const AroundNorms around([&](const Norm& norm, const Tensor& x, const AroundNorms::Apply& apply) {
    const std::vector<int> channels{norm.where() == Channels::second ? 1 : -1};
    const Tensor w = random.normal(x.shape());
    total = total + sum(x * (w - mean(w, Axes(channels), Keep::yes)));
    return detach(apply(x));
  });
  batch_loss(learner, 0);
  const std::vector<Tensor> gradients = grad(total, parameters(learner.net));
  std::set<std::string> found;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const double all = length(gradients[i]),
                 common = length(gradients[i] - centered(gradients[i], Centering::outputs));
    if (common < 1e-5 * all) found.insert(learner.net.parameters()[i].name);
  }
  return [found](const std::string& name) { return found.contains(name); };
}

std::string of_norm(const std::string& trace, std::size_t norm) {
  return fmt::format("{} of norm {}", trace, norm + 1);
}

Outcome train_watched(const Learner& task, const DriftOptions& options,
                      const std::function<void(double loss)>& seen) {
  const bool is_watched = options.measures > 0;
  const support::FeedsNorms feeds_norms =
      is_watched || options.unit || options.remedy != support::Remedy::none
          ? find_feeding(task)
          : [](const std::string&) { return false; };
  FeedingWeights weights(task.net, feeds_norms);
  const Index steps = task.steps.total, stretch = std::max<Index>(1, steps / 50);
  Learner learner{
      .net = task.net, .steps = {.total = steps, .per_epoch = stretch}, .loss = [&](Index step) {
        return support::remedied(options.remedy, [&] { return batch_loss(task, step); });
      }};
  if (options.unit) learner.project = [&] { weights.restore_lengths(); };
  Training updates(options.optimizer, {}, task.net, steps);
  support::set_remedy(updates.optimizer(), task.net, feeds_norms, options.remedy);
  Outcome outcome;
  std::vector<Tensor> before;  // weights, in steps that are measured
  const Index interval = is_watched ? std::max<Index>(1, steps / options.measures) : 0;
  const auto is_measured = [&](Index step) {
    return is_watched && (step == 1 || step % interval == 0);
  };
  train(learner, updates,
        {.gradients =
             [&](Index step, const std::vector<Tensor>& gradients) {
               if (!is_measured(step)) return;
               before = weights.values();
               measure(outcome, step, task, feeds_norms, weights, gradients);
             },
         .step =
             [&](Index step, double loss) {
               if (is_measured(step))
                 outcome.traces["angle"].emplace_back(step, weights.mean_angle(before));
               if (step == 1 && stretch > 1) outcome.curve.push_back({step, loss});
               if (seen) seen(loss);
             },
         .epoch =
             [&](Index step, double mean, const Metrics&) {
               if (step % stretch == 0) outcome.curve.push_back({step, mean});
             }});
  for (const Metrics& metrics : {task.validate(), task.test()})
    for (const auto& [name, value] : metrics) outcome.values[name] = metrics.number(name);
  return outcome;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
