#include "tapegrad/train/learner.h"

#include <algorithm>

#include "tapegrad/core/error.h"
#include "tapegrad/train/internal/loop.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace detail {
namespace {

// The random numbers of a shard in a step.
Random random_of(std::uint64_t seed, Index step, const Shard& shard) {
  constexpr std::uint64_t of_shards = 0x7368617264;  // no program will name another stream so
  return Random(seed)
      .stream(of_shards)
      .stream(static_cast<std::uint64_t>(step))
      .stream(static_cast<std::uint64_t>(shard.index));
}

// A stream of random numbers that outlives the step must be kept by checkpoints: otherwise it
// would begin anew after --resume.
void expect_kept(const RandomJournal& journal, const Random& of_step, const Learner& learner) {
  for (const RandomJournal::Entry& entry : journal.entries()) {
    const Random* random = *entry.random;
    const bool kept = random == nullptr || random == &of_step ||
                      std::any_of(learner.random.begin(), learner.random.end(),
                                  [&](const auto& stream) { return stream.second == random; });
    expect<Error>(kept,
                  "trainer: the loss draws from a Random that Learner::random does not list, so a "
                  "resumed run would draw other numbers; list it: .random = "
                  "{{{{\"training\", &random}}}}");
  }
}

}  // namespace

Tensor StepLoss::of(Index step, const Shard& shard) {
  random_.emplace(random_of(learner_.seed, step, shard));
  std::optional<RandomJournal> journal;
  if (checks_streams_) journal.emplace();
  const Tensor loss = learner_.loss(step, shard, *random_);
  expect<ShapeError>(loss.defined() && loss.size() == 1,
                     "trainer: the loss must be one number, such as a mean: {}",
                     loss.defined() ? to_string(loss.shape()) : "undefined");
  if (journal) expect_kept(*journal, *random_, learner_);
  checks_streams_ = false;
  return loss;
}

}  // namespace detail

namespace {

// A run without files.
class BareRun {
 public:
  BareRun(const RunSteps& steps, const TrainingObserver& observer)
      : steps_(steps), observer_(observer) {}

  bool over() const { return done_ == steps_.total; }
  Index steps_done() const { return done_; }
  Index step_of_epoch() const { return done_ % steps_.per_epoch; }
  double epoch_loss() const { return epoch_loss_.value(); }
  const BestValidation& best() const { return best_; }

  void step(double loss, Index rows) {
    if (step_of_epoch() == 0) epoch_loss_ = {};
    epoch_loss_.add(loss, rows);
    ++done_;
    if (observer_.step) observer_.step(done_, loss);
  }
  bool judge(const Metrics& metrics, const ValidationMetric& metric) {
    return best_.next(metric.of(metrics), done_, metric);
  }
  void report(const Metrics& metrics) {
    if (observer_.epoch) observer_.epoch(done_, epoch_loss(), metrics);
  }

 private:
  RunSteps steps_;
  const TrainingObserver& observer_;
  Index done_ = 0;
  RunningMean epoch_loss_;
  BestValidation best_;
};

}  // namespace

BestValidation train(const Learner& learner, Training& updates, const TrainingObserver& observer) {
  detail::StepLoss loss(learner, false);
  BareRun run(learner.steps, observer);
  if (observer.gradients)
    updates.watch_gradients([&](const std::vector<Tensor>& gradients) {
      observer.gradients(run.steps_done() + 1, gradients);
    });
  detail::follow(learner, updates);
  detail::train_epochs(learner, updates, run, [&](Index step) {
    run.step(updates.step([&] { return loss.of_whole(step); }), learner.loss.rows(step));
  });
  return run.best();
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
