#pragma once

#include <functional>
#include <vector>

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

struct OneCycleOptions {
  double rising = 0.3;         ///< share of the steps before the peak
  double start_divisor = 25;   ///< the first learning rate is the peak's divided by this
  double final_divisor = 1e4;  ///< the last one is the first divided by this
};
/// Half a cosine up to `learning_rate`, then half a cosine down over the rest of `total` steps, and
/// constant from there (Smith and Topin 2018), as torch.optim.lr_scheduler.OneCycleLR. Throws
/// ArgumentError for a share outside [0, 1) and divisors that are not positive, too.
/// Example: `one_cycle(0.1, 1000, {.rising = 0.1})(500)`
Schedule one_cycle(double learning_rate, Index total, OneCycleOptions options = {});
/// One schedule after another: schedule i + 1 begins, at its own step 0, at step `starts[i]`. As
/// torch.optim.lr_scheduler.SequentialLR. Throws ArgumentError for empty schedules, and unless
/// there is one start less than schedules, in increasing order.
/// Example: `sequential({constant(0.1), cosine(0.1, 900)}, {100})(50)`
Schedule sequential(const std::vector<Schedule>& schedules, const std::vector<Index>& starts);

struct PlateauOptions {
  double factor = 0.1;      ///< multiplies the learning rate when the measure stops falling
  Index patience = 10;      ///< how many measures in a row may fail to improve
  double threshold = 1e-4;  ///< an improvement is below best - threshold |best|
  Index cooldown = 0;       ///< how many measures after a reduction are ignored
  double least = 0;         ///< lower bound of the learning rate
};
/// What a checkpoint keeps of a `Plateau`.
/// Example: `const PlateauState state = Plateau(0.1).state()`
struct PlateauState {
  double learning_rate;
  double best;            ///< the measure of the last improvement; at first infinity
  Index failed, cooling;  ///< measures since: without improvement, and still to ignore
};
/// Lowers the learning rate when a measure, such as the validation loss, stops falling, as
/// torch.optim.lr_scheduler.ReduceLROnPlateau:  `adam.set_learning_rate(plateau.next(loss))`. For
/// negative measures, such as log-likelihoods of densities, PyTorch's threshold lies above the best
/// one, so that it never lowers the rate; here it always lies below.
/// Example: `Plateau plateau(0.1, {.patience = 3}); plateau.next(0.7)`
class Plateau {
 public:
  /// Throws ArgumentError for a factor outside (0, 1), a threshold outside [0, 1), and for other
  /// numbers below 0 or not finite.
  explicit Plateau(double learning_rate, PlateauOptions options = {});
  /// The learning rate after one more measure.
  double next(double measure);
  double learning_rate() const { return state_.learning_rate; }

  const PlateauState& state() const { return state_; }
  /// Throws ArgumentError for a best measure that is NaN, and for other numbers that are negative
  /// or not finite.
  void restore(const PlateauState& state);

 private:
  PlateauOptions options_;
  PlateauState state_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
