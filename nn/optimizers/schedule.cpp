#include "tapegrad/nn/optimizers/schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tapegrad/core/error.h"
#include "tapegrad/nn/options.h"

namespace tapegrad::TAPEGRAD_SCALAR {

namespace {

// Wraps rate_of(step), and refuses negative steps.
template <class Rate>
Schedule schedule(const char* name, const Rate& rate_of) {
  return [=](Index step) { return rate_of(expect_not_negative(name, "step", step)); };
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
    return final + (learning_rate - final) * 0.5 * (1 + std::cos(std::numbers::pi * share));
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

Plateau::Plateau(double learning_rate, PlateauOptions options)
    : learning_rate_(expect_not_negative("plateau", "learning_rate", learning_rate)),
      options_(options),
      best_(std::numeric_limits<double>::infinity()) {
  expect<ArgumentError>(options.factor > 0 && options.factor < 1,
                        "plateau: factor must lie in (0, 1): {}", options.factor);
  expect_not_negative("plateau", "patience", options.patience);
  expect_share("plateau", "threshold", options.threshold);
  expect_not_negative("plateau", "cooldown", options.cooldown);
  expect_not_negative("plateau", "least", options.least);
}

double Plateau::next(double measure) {
  const bool better = measure < best_ * (1 - options_.threshold);
  if (better) best_ = measure;
  failed_ = better ? 0 : failed_ + 1;
  if (cooling_ > 0) {
    --cooling_;
    failed_ = 0;
  }
  if (failed_ > options_.patience) {
    learning_rate_ = std::max(options_.least, learning_rate_ * options_.factor);
    cooling_ = options_.cooldown;
    failed_ = 0;
  }
  return learning_rate_;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
