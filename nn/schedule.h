#pragma once

#include <functional>

#include "tapegrad/core/real.h"

namespace tapegrad {

/// The learning rate of each step, counted from 0:  `adam.set_rate(schedule(step))`.
using Schedule = std::function<double(Index step)>;

// Each throws ShapeError for lengths below 1.

Schedule constant_rate(double rate);
/// From `initial` in a line to `rate` within `warmup` steps, then rate sqrt(warmup / step) (Vaswani
/// et al. 2017, section 5.3).
Schedule warmup_inverse_sqrt(double rate, Index warmup, double initial = 0);
/// In a line from 0 to `rate` within `warmup` steps, then down half a cosine to `final` at step
/// `total` (Loshchilov and Hutter 2017), where it stays.
Schedule cosine(double rate, Index total, double final = 0, Index warmup = 0);
/// rate factor^(step / every), in whole steps.
Schedule step_decay(double rate, Index every, double factor = 0.1);
/// rate factor^step
Schedule exponential(double rate, double factor);

}  // namespace tapegrad
