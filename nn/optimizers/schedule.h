#pragma once

#include <functional>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The learning rate of each step, counted from 0:  `adam.set_learning_rate(schedule(step))`.
/// Example: `const Schedule schedule = [](Index step) { return step < 100 ? 0.1 : 0.01; }`
using Schedule = std::function<double(Index step)>;

// Each throws ArgumentError for lengths below 1, for learning rates and factors that are negative
// or not finite, and, when called, for a negative step.

/// Example: `constant(1e-3)(10)`
Schedule constant(double learning_rate);
/// Linear from `initial` to `learning_rate` in `warmup` steps, then
/// learning_rate sqrt(warmup / step) (Vaswani et al. 2017, section 5.3).
/// Example: `warmup_inverse_sqrt(1e-3, 100)(10)`
Schedule warmup_inverse_sqrt(double learning_rate, Index warmup, double initial = 0);
/// Linear from 0 to `learning_rate` in `warmup` steps, then half a cosine down to `final` at step
/// `total`, and constant from there (Loshchilov and Hutter 2017).
/// Example: `Sgd sgd(parameters(net)); sgd.set_learning_rate(cosine(0.1, 1000)(sgd.steps()))`
Schedule cosine(double learning_rate, Index total, double final = 0, Index warmup = 0);
/// learning_rate factor^(step / every), with the quotient rounded down.
/// Example: `step_decay(0.1, 30)(45)`
Schedule step_decay(double learning_rate, Index every, double factor = 0.1);
/// learning_rate factor^step
/// Example: `exponential(0.1, 0.95)(10)`
Schedule exponential(double learning_rate, double factor);

struct PlateauOptions {
  double factor = 0.1;      ///< multiplies the learning rate when the measure stops falling
  Index patience = 10;      ///< how many measures in a row may fail to improve
  double threshold = 1e-4;  ///< an improvement is below best (1 - threshold)
  Index cooldown = 0;       ///< how many measures after a reduction are ignored
  double least = 0;         ///< lower bound of the learning rate
};
/// Lowers the learning rate when a measure, such as the validation loss, stops falling, as
/// torch.optim.lr_scheduler.ReduceLROnPlateau:  `adam.set_learning_rate(plateau.next(loss))`.
/// Example: `Plateau plateau(0.1, {.patience = 3}); plateau.next(0.7)`
class Plateau {
 public:
  /// Throws ArgumentError for a factor outside (0, 1), a threshold outside [0, 1), and for other
  /// numbers below 0 or not finite.
  explicit Plateau(double learning_rate, PlateauOptions options = {});
  /// The learning rate after one more measure.
  double next(double measure);

 private:
  double learning_rate_;
  PlateauOptions options_;
  double best_;
  Index failed_ = 0, cooling_ = 0;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
