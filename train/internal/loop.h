#pragma once

#include <optional>

#include "tapegrad/core/random.h"
#include "tapegrad/train/learner.h"

// What the loops of programs and studies share.
namespace tapegrad::TAPEGRAD_SCALAR::detail {

/// The losses of a learner, which must outlive it. Each shard of a step has random numbers of its
/// own.
class StepLoss {
 public:
  ///   checks_streams: whether the first step throws Error for a stream of random numbers that
  ///   outlives the step and is not among the learner's streams
  StepLoss(const Learner& learner, bool checks_streams)
      : learner_(learner), checks_streams_(checks_streams) {}

  Tensor of(Index step, const Shard& shard);
  Tensor of_whole(Index step) { return of(step, {0, 0, learner_.loss.rows(step)}); }

 private:
  const Learner& learner_;
  bool checks_streams_;           // of the first step
  std::optional<Random> random_;  // of a shard, until its sweep has ended
};

/// Makes `updates` do what the learner asks of each step.
inline void follow(const Learner& learner, Training& updates) {
  updates.after_updates(learner.project);
  if (learner.carried) updates.carries(learner.carried);
}

/// Takes steps until the run is over, and at the end of each epoch validates, keeps the best
/// values, and reports.
///   run: `Run`, or what has the same members without files   take(step): takes a step of the run
template <class AnyRun, class Take>
void train_epochs(const Learner& learner, Training& updates, AnyRun& run, const Take& take) {
  while (!run.over()) {
    take(run.steps_done());
    const bool ends_epoch = run.step_of_epoch() == 0 || run.steps_done() == learner.steps.total;
    if (!ends_epoch) continue;
    Metrics metrics;
    if (learner.validate)
      metrics = updates.averaged([&] {
        const Metrics found = learner.validate();
        if (run.judge(found, learner.metric)) updates.keep();
        return found;
      });
    if (Plateau* plateau = updates.plateau())
      plateau->next(metrics.contains("validation_loss") ? metrics.number("validation_loss")
                                                        : run.epoch_loss());
    run.report(metrics);
  }
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::detail
