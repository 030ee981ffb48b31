#include "tapegrad/inspect/drift_along.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "tapegrad/core/error.h"
#include "tapegrad/inspect/internal/free_part.h"
#include "tapegrad/inspect/internal/tried_loss.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// Gives an optimizer its state back, and its parameters their values.
class KeptOptimizer {
 public:
  explicit KeptOptimizer(Optimizer& optimizer)
      : optimizer_(optimizer),
        steps_(optimizer.steps()),
        skipped_(optimizer.skipped()),
        moments_(optimizer.moments()) {
    for (const Parameter& parameter : optimizer.parameters()) values_.push_back(parameter.value());
  }
  KeptOptimizer(const KeptOptimizer&) = delete;
  KeptOptimizer& operator=(const KeptOptimizer&) = delete;
  ~KeptOptimizer() {
    optimizer_.restore(steps_, moments_, skipped_);
    for (std::size_t i = 0; i < values_.size(); ++i)
      Parameter(optimizer_.parameters()[i]).set(values_[i]);
  }

 private:
  Optimizer& optimizer_;
  Index steps_;
  std::vector<Index> skipped_;
  std::vector<Moments> moments_;
  std::vector<Tensor> values_;
};

// A step of an optimizer.
struct Step {
  std::vector<Tensor> before, added;          // values of a direction's parts, and what is added
  std::vector<Tensor> all_before, all_added;  // the same of all parameters
};

Step take(const FreeDirection& direction, Optimizer& optimizer,
          const std::vector<Tensor>& gradients) {
  Step step;
  for (const FreePart& part : direction.parts) step.before.push_back(part.parameter.value());
  for (const Parameter& each : optimizer.parameters()) step.all_before.push_back(each.value());
  optimizer.step(gradients);
  for (std::size_t i = 0; i < step.before.size(); ++i)
    step.added.push_back(direction.parts[i].parameter.value() - step.before[i]);
  for (std::size_t i = 0; i < step.all_before.size(); ++i)
    step.all_added.push_back(optimizer.parameters()[i].value() - step.all_before[i]);
  return step;
}

// How much of its parameters a step takes away for another reason than the gradient.
struct Decays {
  double along = 0;                // of what lies along the direction
  std::vector<double> parts, all;  // of each part, and of each of the optimizer's parameters
};

// The root mean square of what a step adds to all parameters, without its decay.
double rms_of(const Step& step, const Decays& decays) {
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < step.all_added.size(); ++i) {
    sum += squares(step.all_added[i] + decays.all[i] * step.all_before[i]);
    count += static_cast<double>(step.all_added[i].size());
  }
  return std::sqrt(sum / count);
}

// What a step does along a direction.
struct Along {
  double part = 0;      // the length of its part along it
  double numbers = 0;   // the root mean square of the changes of numbers
  double outward = 0;   // the relative change of the length of what lies along it, of first order
  double bent = 0;      // the same, of second order
  double elements = 0;  // how many it concerns
};

Along along(const FreeDirection& direction, const Step& step, const Decays& decays) {
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
    add(products, part, per_number * (step.added[i] + decays.parts[i] * step.before[i]), sign);
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

double inner_product(const Tensor& x, const Tensor& y) {
  const std::span<const real> first = x.values(), second = y.values();
  return std::inner_product(first.begin(), first.end(), second.begin(), 0.0);
}

// The share d if a step from weights that lack `less` takes away d of it less. Where `parallel`,
// what it takes away has to be mostly such a share: a step as long as its weights, as of Lamb, is
// not their decay.
double decay_of(const Tensor& whole, const Tensor& from_less, const Tensor& less, bool parallel) {
  constexpr double unit = std::numeric_limits<real>::epsilon();
  const Tensor apart = from_less - whole;
  const double inner = inner_product(apart, less), squared = squares(less);
  if (parallel && 2 * inner * inner < squares(apart) * squared) return 0;
  const double decay = squared > 0 ? inner / squared : 0;
  return decay > 8 * unit ? decay : 0;
}

// By how much a step depends on what lies along the direction, which the gradient does not: it is
// compared with one from weights where less lies there. Of an exchange, both sides become less.
Decays decays_along(const FreeDirection& direction, Optimizer& optimizer,
                    const std::vector<Tensor>& gradients) {
  const bool shifts = direction.kind == FreeKind::shift;
  const bool exchanges = direction.kind == FreeKind::exchange;
  Decays decays;
  Step whole;
  {
    const KeptOptimizer kept(optimizer);
    whole = take(direction, optimizer, gradients);
  }
  {
    const KeptOptimizer kept(optimizer);
    for (Parameter each : optimizer.parameters()) each.set(each.value() * 0.5);
    const Step halved = take(direction, optimizer, gradients);
    for (std::size_t i = 0; i < whole.all_added.size(); ++i)
      decays.all.push_back(decay_of(whole.all_added[i], halved.all_added[i],
                                    whole.all_before[i] - halved.all_before[i], true));
  }
  const KeptOptimizer kept(optimizer);
  for (FreePart part : direction.parts) {
    const Tensor& value = part.parameter.value();
    Numbers change = sums(part, value);
    const Numbers counts = sums(part, ones(value.shape()));
    for (std::size_t k = 0; k < change.size(); ++k)
      change[k] = shifts ? -change[k] / counts[k] : std::log(part.inverse ? 2 : 0.5);
    part.parameter.set(moved(direction.kind, part, value, change));
  }
  const Step less = take(direction, optimizer, gradients);
  double sum = 0, squared = 0;
  for (std::size_t i = 0; i < whole.added.size(); ++i) {
    const Tensor& before = whole.before[i];
    Parameter(direction.parts[i].parameter).set(before);  // also if it is not optimized
    const Tensor lacking = before - less.before[i];
    decays.parts.push_back(decay_of(whole.added[i], less.added[i], lacking, exchanges));
    sum += decays.parts.back() * squares(lacking);
    squared += squares(lacking);
  }
  if (squared > 0) decays.along = sum / squared;
  return decays;
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
  Decays decays;
  for (int step = 0; step < steps; ++step) {
    std::vector<Tensor> gradients;
    {
      const Tape tape;
      gradients = grad(loss(), all);
    }
    if (step == 0) decays = decays_along(direction, optimizer, gradients);
    const Step taken = take(direction, optimizer, gradients);
    const Along found = along(direction, taken, decays);
    if (const double rms = rms_of(taken, decays); rms > 0)
      drift.share += std::pow(found.part / rms, 2) / found.elements / steps;
    drift.walk += found.numbers * found.numbers / steps;
    drift.growth += (found.outward + found.bent) / steps;
  }
  drift.decay = decays.along;
  drift.share = std::sqrt(drift.share);
  drift.walk = std::sqrt(drift.walk);
  drift.prediction = sentence(direction.kind, drift);
  return drift;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
