#include "experiments/drift_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tapegrad/core/error.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

// The norms in one forward pass, from the input on, and the gradients of the loss.
struct PassStatistics {
  std::vector<double> ratios, deviations;        // |mu| / s and s, their means over rows
  std::vector<Tensor> at_inputs, at_parameters;  // gradients: of each norm's input, of parameters
};

enum class Statistics { own, attached };

PassStatistics measure_pass(const LearningTask& task, const std::function<Tensor()>& loss,
                            Statistics statistics) {
  PassStatistics found;
  std::vector<Tensor> inputs;
  const Tape tape;
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
  const Tensor value = loss();
  found.at_inputs = grad(value, inputs, {.keep = true});
  found.at_parameters = grad(value, parameters(task.fields));
  return found;
}

double inner(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) total += sum(a[i] * b[i]).item();
  return total;
}

// The size of the common mode in the gradients of what feeds norms, beside these gradients.
double common_share(const LearningTask& task, const std::vector<Tensor>& gradients) {
  double common = 0, all = 0;
  const std::vector<NamedParameter>& named = task.fields.parameters();
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!task.feeds_norms(named[i].name)) continue;
    const Tensor& g = gradients[i];
    common += sum(square(g - centered(g, Centering::outputs))).item();
    all += sum(square(g)).item();
  }
  return std::sqrt(common / all);
}

// rms(c) / rms(V) of W = V + c 1^T, the largest one of all weights that feed norms.
double common_weights(const LearningTask& task) {
  double most = 0;
  for (const NamedParameter& named : task.fields.parameters()) {
    if (!task.feeds_norms(named.name) || named.parameter.shape().rank() < 2) continue;
    const Tensor w = named.parameter, v = centered(w, Centering::outputs);
    most = std::max<double>(most, std::sqrt(sum(square(w - v)).item() / sum(square(v)).item()));
  }
  return most;
}

double cosine(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return inner(a, b) / std::sqrt(inner(a, a) * inner(b, b));
}

struct LossAndGradients {
  double loss;
  std::vector<Tensor> gradients;
};

LossAndGradients differentiated(support::Remedy remedy, const std::function<Tensor()>& batch_loss,
                                const std::vector<Parameter>& parameters) {
  const Tape tape;
  const Tensor loss = support::remedied(remedy, batch_loss);
  return {loss.item(), grad(loss, parameters)};
}

// Adds a point to each trace.
void measure(Outcome& outcome, Index step, const LearningTask& task,
             const std::function<Tensor()>& batch_loss, const std::vector<Tensor>& gradients) {
  const PassStatistics own = measure_pass(task, batch_loss, Statistics::own),
                       attached = measure_pass(task, batch_loss, Statistics::attached);
  const auto trace = [&](const std::string& name, double value) {
    outcome.traces[name].emplace_back(step, value);
  };
  trace("ratio", *std::max_element(own.ratios.begin(), own.ratios.end()));
  trace("deviation", own.deviations.back());
  trace("cosine", cosine(gradients, attached.at_parameters));
  trace("size", std::sqrt(inner(gradients, gradients) /
                          inner(attached.at_parameters, attached.at_parameters)));
  trace("common", common_share(task, gradients));
  trace("weights", common_weights(task));
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

std::string of_norm(const std::string& trace, std::size_t norm) {
  return fmt::format("{} of norm {}", trace, norm + 1);
}

Outcome train_watched(const LearningTask& task, const DriftOptions& options,
                      const std::function<void(double loss)>& seen) {
  const std::vector<Parameter> all = parameters(task.fields);
  const std::unique_ptr<Optimizer> optimizer = options.optimizer.make_optimizer(all);
  support::set_remedy(*optimizer, task.fields, task.feeds_norms, options.remedy);
  const Schedule schedule = options.optimizer.make_schedule(options.steps);
  const Index stretch = std::max<Index>(1, options.steps / 50);
  Outcome outcome;
  RunningMean mean;
  for (Index step = 1; step <= options.steps; ++step) {
    const std::function<Tensor()> batch_loss = task.next();
    const auto [loss, gradients] = differentiated(options.remedy, batch_loss, all);
    if (step == 1 || step % (options.steps / options.measures) == 0)
      measure(outcome, step, task, batch_loss, gradients);
    optimizer->set_learning_rate(schedule(step - 1));
    optimizer->step(gradients);
    mean.add(loss);
    if (step == 1 || step % stretch == 0) outcome.curve.push_back({step, mean.value()});
    if (step % stretch == 0) mean = {};
    if (seen) seen(loss);
  }
  outcome.values["validation"] = task.validation();
  outcome.values["test"] = task.test();
  return outcome;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
