#include "tapegrad/nn/schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tapegrad/core/error.h"
#include "tapegrad/nn/options.h"

namespace tapegrad::TAPEGRAD_SCALAR {

namespace {

// rate(step), for steps from 0 on.
template <class Rate>
Schedule schedule(const char* name, const Rate& rate) {
  return [=](Index step) { return rate(expect_not_negative(name, "step", step)); };
}

}  // namespace

Schedule constant_rate(double rate) {
  expect_not_negative("constant_rate", "rate", rate);
  return schedule("constant_rate", [=](Index) { return rate; });
}

Schedule warmup_inverse_sqrt(double rate, Index warmup, double initial) {
  expect_not_negative("warmup_inverse_sqrt", "rate", rate);
  expect_positive("warmup_inverse_sqrt", "warmup", warmup);
  expect_not_negative("warmup_inverse_sqrt", "initial", initial);
  return schedule("warmup_inverse_sqrt", [=](Index step) {
    const double share = static_cast<double>(step) / static_cast<double>(warmup);
    return share < 1 ? initial + share * (rate - initial) : rate / std::sqrt(share);
  });
}

Schedule cosine(double rate, Index total, double final, Index warmup) {
  expect_not_negative("cosine", "rate", rate);
  expect_not_negative("cosine", "final", final);
  expect(warmup >= 0 && total > warmup, "cosine: {} steps must be more than {} of warmup", total,
         warmup);
  return schedule("cosine", [=](Index step) {
    if (step < warmup) return rate * static_cast<double>(step) / static_cast<double>(warmup);
    const double share =
        std::min(1.0, static_cast<double>(step - warmup) / static_cast<double>(total - warmup));
    return final + (rate - final) * 0.5 * (1 + std::cos(std::numbers::pi * share));
  });
}

Schedule step_decay(double rate, Index every, double factor) {
  expect_not_negative("step_decay", "rate", rate);
  expect_positive("step_decay", "every", every);
  expect_not_negative("step_decay", "factor", factor);
  return schedule("step_decay", [=](Index step) {
    return rate * std::pow(factor, static_cast<double>(step / every));
  });
}

Schedule exponential(double rate, double factor) {
  expect_not_negative("exponential", "rate", rate);
  expect_not_negative("exponential", "factor", factor);
  return schedule("exponential",
                  [=](Index step) { return rate * std::pow(factor, static_cast<double>(step)); });
}

Plateau::Plateau(double rate, PlateauOptions options)
    : rate_(expect_not_negative("plateau", "rate", rate)),
      options_(options),
      best_(std::numeric_limits<double>::infinity()) {
  expect(options.factor > 0 && options.factor < 1, "plateau: factor must lie in (0, 1): {}",
         options.factor);
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
    rate_ = std::max(options_.least, rate_ * options_.factor);
    cooling_ = options_.cooldown;
    failed_ = 0;
  }
  return rate_;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
