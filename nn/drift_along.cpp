#include "tapegrad/nn/drift_along.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tapegrad/core/error.h"
#include "tapegrad/nn/internal/free_part.h"
#include "tapegrad/nn/internal/tried_loss.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// Gives an optimizer its state back, and its parameters their values.
class KeptOptimizer {
 public:
  explicit KeptOptimizer(Optimizer& optimizer)
      : optimizer_(optimizer), steps_(optimizer.steps()), moments_(optimizer.moments()) {
    for (const Parameter& parameter : optimizer.parameters()) values_.push_back(parameter.value());
  }
  KeptOptimizer(const KeptOptimizer&) = delete;
  KeptOptimizer& operator=(const KeptOptimizer&) = delete;
  ~KeptOptimizer() {
    optimizer_.restore(steps_, moments_);
    for (std::size_t i = 0; i < values_.size(); ++i)
      Parameter(optimizer_.parameters()[i]).set(values_[i]);
  }

 private:
  Optimizer& optimizer_;
  Index steps_;
  std::vector<Moments> moments_;
  std::vector<Tensor> values_;
};

// A step of an optimizer.
struct Step {
  std::vector<Tensor> before, added;  // values of a direction's parts, and what is added to them
  double rms;                         // of what is added to all parameters
};

Step take(const FreeDirection& direction, Optimizer& optimizer,
          const std::vector<Tensor>& gradients) {
  Step step;
  std::vector<Tensor> all;
  for (const FreePart& part : direction.parts) step.before.push_back(part.parameter.value());
  for (const Parameter& each : optimizer.parameters()) all.push_back(each.value());
  optimizer.step(gradients);
  for (std::size_t i = 0; i < step.before.size(); ++i)
    step.added.push_back(direction.parts[i].parameter.value() - step.before[i]);
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    sum += squares(optimizer.parameters()[i].value() - all[i]);
    count += static_cast<double>(all[i].size());
  }
  step.rms = std::sqrt(sum / count);
  return step;
}

// What a step does along a direction.
struct Along {
  double part = 0;      // the length of its part along it
  double numbers = 0;   // the root mean square of the changes of numbers
  double outward = 0;   // the relative change of the length of what lies along it, of first order
  double bent = 0;      // the same, of second order
  double elements = 0;  // how many it concerns
};

// decay: the share of what lies along it that the step takes away for another reason
Along along(const FreeDirection& direction, const Step& step, double decay) {
  const bool shifts = direction.kind == FreeKind::shift;
  Numbers products, lengths, own;  // inner products with a unit change of each number
  const auto add = [](Numbers& to, const FreePart& part, const Tensor& x, double factor) {
    const Numbers sum = sums(part, x);
    to.resize(sum.size());
    for (std::size_t k = 0; k < sum.size(); ++k) to[k] += factor * sum[k];
    return std::accumulate(sum.begin(), sum.end(), 0.0);
  };
  Along found;
  double added_squares = 0;
  for (std::size_t i = 0; i < step.added.size(); ++i) {
    const FreePart& part = direction.parts[i];
    const Tensor per_number = shifts ? ones(step.before[i].shape()) : step.before[i];
    const double sign = part.inverse ? -1 : 1;
    add(products, part, per_number * (step.added[i] + decay * step.before[i]), sign);
    add(lengths, part, square(per_number), 1);
    add(own, part, per_number * step.before[i], sign);
    Numbers unused;
    added_squares += add(unused, part, square(step.added[i]), 1);
    found.elements += add(unused, part, ones(step.before[i].shape()), 1);
  }
  double inner = 0, own_squares = 0;
  for (std::size_t k = 0; k < products.size(); ++k) {
    if (lengths[k] == 0) continue;
    found.part += products[k] * products[k] / lengths[k];
    found.numbers += std::pow(products[k] / lengths[k], 2) / static_cast<double>(products.size());
    inner += products[k] * own[k] / lengths[k];
    own_squares += own[k] * own[k] / lengths[k];
  }
  if (own_squares > 0 && direction.kind != FreeKind::exchange) {
    found.outward = inner / own_squares;
    found.bent = (shifts ? found.part : added_squares) / (2 * own_squares);
  }
  found.part = std::sqrt(found.part);
  found.numbers = std::sqrt(found.numbers);
  return found;
}

// By how much a step depends on what lies along the direction, which the gradient does not: it is
// compared with one from weights where less lies there.
double decay_along(const FreeDirection& direction, Optimizer& optimizer,
                   const std::vector<Tensor>& gradients) {
  constexpr double unit = std::numeric_limits<real>::epsilon();
  const bool shifts = direction.kind == FreeKind::shift;
  Step whole;
  {
    const KeptOptimizer kept(optimizer);
    whole = take(direction, optimizer, gradients);
  }
  const KeptOptimizer kept(optimizer);
  for (FreePart part : direction.parts) {
    const Tensor& value = part.parameter.value();
    Numbers change = sums(part, value);
    const Numbers counts = sums(part, ones(value.shape()));
    for (std::size_t k = 0; k < change.size(); ++k)
      change[k] = shifts ? -change[k] / counts[k] : std::log(0.5);
    part.parameter.set(moved(direction.kind, part, value, change));
  }
  const Step less = take(direction, optimizer, gradients);
  for (std::size_t i = 0; i < whole.added.size(); ++i) {
    Parameter(direction.parts[i].parameter).set(whole.before[i]);  // also if it is not optimized
    whole.added[i] = whole.added[i] - less.added[i];
  }
  const double decay = -along(direction, whole, 0).outward / (shifts ? 1 : 0.5);
  return decay > 8 * unit ? decay : 0;
}

std::string sentence(FreeKind kind, const Drift& drift) {
  constexpr double negligible = 1e-2;
  std::string text;
  if (drift.share > negligible)
    text = fmt::format("{:.2g} of a step lies along it: {} by about {:.2g} per step{}", drift.share,
                       kind == FreeKind::shift ? "the numbers walk" : "factors change", drift.walk,
                       drift.decay > 0 ? "" : ", and nothing brings them back");
  else if (kind == FreeKind::scale)
    text = fmt::format(
        "steps are orthogonal to it, so the parameters only grow, now by {:.2g} of their length "
        "per step, and the longer they are, the less a step turns them",
        drift.growth);
  else
    text = "steps have no part along it: what lies there stays";
  if (drift.decay > 0) text += fmt::format("; decay takes away {:.2g} of it per step", drift.decay);
  return text;
}

}  // namespace

Drift drift_along(const Fields& net, const FreeDirection& direction, Optimizer& optimizer,
                  const std::function<Tensor()>& loss) {
  constexpr int steps = 8;
  const std::vector<Parameter>& all = optimizer.parameters();
  const auto is_optimized = [&](const FreePart& part) {
    return std::any_of(all.begin(), all.end(),
                       [&](const Parameter& each) { return same(each, part.parameter); });
  };
  expect<ArgumentError>(std::any_of(direction.parts.begin(), direction.parts.end(), is_optimized),
                        "drift along: {} is not among the optimizer's parameters",
                        direction.parts[0].name);
  const KeptNet kept(net);
  const KeptOptimizer kept_optimizer(optimizer);
  Drift drift{};
  for (int step = 0; step < steps; ++step) {
    std::vector<Tensor> gradients;
    {
      const Tape tape;
      gradients = grad(loss(), all);
    }
    if (step == 0) drift.decay = decay_along(direction, optimizer, gradients);
    const Step taken = take(direction, optimizer, gradients);
    const Along found = along(direction, taken, drift.decay);
    if (taken.rms > 0) drift.share += std::pow(found.part / taken.rms, 2) / found.elements / steps;
    drift.walk += found.numbers * found.numbers / steps;
    drift.growth += (found.outward + found.bent) / steps;
  }
  drift.share = std::sqrt(drift.share);
  drift.walk = std::sqrt(drift.walk);
  drift.prediction = sentence(direction.kind, drift);
  return drift;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
