#pragma once

#include <functional>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The learning rate of each step, counted from 0:  `adam.set_rate(schedule(step))`.
using Schedule = std::function<double(Index step)>;

// Each throws ShapeError for lengths below 1, for rates and factors that are negative or not
// finite, and, when it is called, for a step before the first.

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

struct PlateauOptions {
  double factor = 0.1;      ///< times the rate when the measure has stopped falling
  Index patience = 10;      ///< so many measures in a row may fail to improve
  double threshold = 1e-4;  ///< an improvement is below best (1 - threshold)
  Index cooldown = 0;       ///< so many measures after a reduction do not count
  double least = 0;         ///< the rate never falls below
};
/// Lowers the rate when a measure, such as the validation loss, stops falling, as
/// torch.optim.lr_scheduler.ReduceLROnPlateau:  `adam.set_rate(plateau.next(loss))`.
class Plateau {
 public:
  /// Throws ShapeError for a factor outside (0, 1), a threshold outside [0, 1), and for other
  /// numbers below 0 or not finite.
  explicit Plateau(double rate, PlateauOptions options = {});
  /// The rate after one more measure.
  double next(double measure);

 private:
  double rate_;
  PlateauOptions options_;
  double best_;
  Index failed_ = 0, cooling_ = 0;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
