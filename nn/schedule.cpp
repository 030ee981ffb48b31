#include "tapegrad/nn/schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tapegrad/core/error.h"

namespace tapegrad {

Schedule constant_rate(double rate) {
  return [=](Index) { return rate; };
}

Schedule warmup_inverse_sqrt(double rate, Index warmup, double initial) {
  expect(warmup >= 1, "warmup_inverse_sqrt: needs at least one step of warmup: {}", warmup);
  return [=](Index step) {
    const double share = static_cast<double>(step) / static_cast<double>(warmup);
    return share < 1 ? initial + share * (rate - initial) : rate / std::sqrt(share);
  };
}

Schedule cosine(double rate, Index total, double final, Index warmup) {
  expect(warmup >= 0 && total > warmup, "cosine: {} steps must be more than {} of warmup", total,
         warmup);
  return [=](Index step) {
    if (step < warmup) return rate * static_cast<double>(step) / static_cast<double>(warmup);
    const double share =
        std::min(1.0, static_cast<double>(step - warmup) / static_cast<double>(total - warmup));
    return final + (rate - final) * 0.5 * (1 + std::cos(std::numbers::pi * share));
  };
}

Schedule step_decay(double rate, Index every, double factor) {
  expect(every >= 1, "step_decay: needs at least one step between two decays: {}", every);
  return [=](Index step) { return rate * std::pow(factor, static_cast<double>(step / every)); };
}

Schedule exponential(double rate, double factor) {
  return [=](Index step) { return rate * std::pow(factor, static_cast<double>(step)); };
}

Plateau::Plateau(double rate, PlateauOptions options)
    : rate_(rate), options_(options), best_(std::numeric_limits<double>::infinity()) {
  expect(options.factor > 0 && options.factor < 1, "plateau: the factor must lie in (0, 1): {}",
         options.factor);
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

}  // namespace tapegrad
