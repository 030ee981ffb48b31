#include "tapegrad/nn/optimizers/schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tapegrad/core/error.h"
#include "tapegrad/core/options.h"

namespace tapegrad::TAPEGRAD_SCALAR {

namespace {

// Wraps rate_of(step), and refuses negative steps.
template <class Rate>
Schedule schedule(const char* name, const Rate& rate_of) {
  return [=](Index step) { return rate_of(expect_not_negative(name, "step", step)); };
}

// Falls (or rises) from `begin` to `end` while `share` goes from 0 to 1.
double half_cosine(double begin, double end, double share) {
  return end + (begin - end) * 0.5 * (1 + std::cos(std::numbers::pi * share));
}

}  // namespace

Schedule constant(double learning_rate) {
  expect_not_negative("constant", "learning_rate", learning_rate);
  return schedule("constant", [=](Index) { return learning_rate; });
}

Schedule warmup_inverse_sqrt(double learning_rate, Index warmup, double initial) {
  expect_not_negative("warmup_inverse_sqrt", "learning_rate", learning_rate);
  expect_positive("warmup_inverse_sqrt", "warmup", warmup);
  expect_not_negative("warmup_inverse_sqrt", "initial", initial);
  return schedule("warmup_inverse_sqrt", [=](Index step) {
    const double share = static_cast<double>(step) / static_cast<double>(warmup);
    return share < 1 ? initial + share * (learning_rate - initial)
                     : learning_rate / std::sqrt(share);
  });
}

Schedule cosine(double learning_rate, Index total, double final, Index warmup) {
  expect_not_negative("cosine", "learning_rate", learning_rate);
  expect_not_negative("cosine", "final", final);
  expect<ArgumentError>(warmup >= 0 && total > warmup,
                        "cosine: warmup must be at least 0 and less than all steps: {} of {}",
                        warmup, total);
  return schedule("cosine", [=](Index step) {
    if (step < warmup)
      return learning_rate * static_cast<double>(step) / static_cast<double>(warmup);
    const double share =
        std::min(1.0, static_cast<double>(step - warmup) / static_cast<double>(total - warmup));
    return half_cosine(learning_rate, final, share);
  });
}

Schedule step_decay(double learning_rate, Index every, double factor) {
  expect_not_negative("step_decay", "learning_rate", learning_rate);
  expect_positive("step_decay", "every", every);
  expect_not_negative("step_decay", "factor", factor);
  return schedule("step_decay", [=](Index step) {
    return learning_rate * std::pow(factor, static_cast<double>(step / every));
  });
}

Schedule exponential(double learning_rate, double factor) {
  expect_not_negative("exponential", "learning_rate", learning_rate);
  expect_not_negative("exponential", "factor", factor);
  return schedule("exponential", [=](Index step) {
    return learning_rate * std::pow(factor, static_cast<double>(step));
  });
}

Schedule one_cycle(double learning_rate, Index total, OneCycleOptions options) {
  expect_not_negative("one_cycle", "learning_rate", learning_rate);
  expect_positive("one_cycle", "total", total);
  expect_share("one_cycle", "rising", options.rising);
  expect<ArgumentError>(options.start_divisor > 0 && options.final_divisor > 0,
                        "one_cycle: divisors must be positive: {} and {}", options.start_divisor,
                        options.final_divisor);
  const double first = learning_rate / options.start_divisor, last = first / options.final_divisor;
  const double peak = options.rising * static_cast<double>(total) - 1;
  const double end = static_cast<double>(total - 1);
  return schedule("one_cycle", [=](Index step) {
    const auto at = static_cast<double>(step);
    if (at < peak) return half_cosine(first, learning_rate, at / peak);
    return half_cosine(learning_rate, last, std::min(1.0, (at - peak) / (end - peak)));
  });
}

Schedule sequential(const std::vector<Schedule>& schedules, const std::vector<Index>& starts) {
  expect<ArgumentError>(schedules.size() == starts.size() + 1,
                        "sequential: {} schedules need one start less: {}", schedules.size(),
                        starts.size());
  for (const Schedule& each : schedules)
    expect<ArgumentError>(each != nullptr, "sequential: a schedule is empty");
  for (std::size_t i = 0; i < starts.size(); ++i)
    expect<ArgumentError>(starts[i] > (i == 0 ? 0 : starts[i - 1]),
                          "sequential: starts must increase from 1 on: {}", starts[i]);
  return schedule("sequential", [=](Index step) {
    const auto next = std::upper_bound(starts.begin(), starts.end(), step);
    const auto which = static_cast<std::size_t>(next - starts.begin());
    return schedules[which](which == 0 ? step : step - starts[which - 1]);
  });
}

Plateau::Plateau(double learning_rate, PlateauOptions options)
    : options_(options),
      state_{.learning_rate = expect_not_negative("plateau", "learning_rate", learning_rate),
             .best = std::numeric_limits<double>::infinity(),
             .failed = 0,
             .cooling = 0} {
  expect<ArgumentError>(options.factor > 0 && options.factor < 1,
                        "plateau: factor must lie in (0, 1): {}", options.factor);
  expect_not_negative("plateau", "patience", options.patience);
  expect_share("plateau", "threshold", options.threshold);
  expect_not_negative("plateau", "cooldown", options.cooldown);
  expect_not_negative("plateau", "least", options.least);
}

double Plateau::next(double measure) {
  auto& [learning_rate, best, failed, cooling] = state_;
  const bool better = measure < best * (1 - std::copysign(options_.threshold, best));
  if (better) best = measure;
  failed = better ? 0 : failed + 1;
  if (cooling > 0) {
    --cooling;
    failed = 0;
  }
  if (failed > options_.patience) {
    learning_rate = std::max(options_.least, learning_rate * options_.factor);
    cooling = options_.cooldown;
    failed = 0;
  }
  return learning_rate;
}

void Plateau::restore(const PlateauState& state) {
  expect_not_negative("plateau", "learning_rate", state.learning_rate);
  expect<ArgumentError>(!std::isnan(state.best), "plateau: best is not a number: {}", state.best);
  expect_not_negative("plateau", "failed", state.failed);
  expect_not_negative("plateau", "cooling", state.cooling);
  state_ = state;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
