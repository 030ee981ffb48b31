#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "experiments/matrix.h"
#include "tapegrad/train/json.h"
#include "tapegrad/train/optimizer_flags.h"
#include "tapegrad/train/trainer.h"

/// Learning problems, each in a file of its own: its data, its nets and how they are judged.
/// Trainers and tasks of papers train them.
namespace tapegrad::TAPEGRAD_SCALAR::problems {

/// What a net is worth on the validation set.
struct Validation {
  double value;                               ///< by which states are chosen
  double loss;                                ///< for curves
  std::map<std::string, double> traced = {};  ///< what else is to be shown, by name
};

/// A net in training with its data, of which trainers and tasks of papers make a `Learner`.
class Trainee {
 public:
  Trainee() = default;
  Trainee(const Trainee&) = delete;  // batches refer to it
  Trainee& operator=(const Trainee&) = delete;
  virtual ~Trainee() = default;

  virtual Fields net() const = 0;
  /// The rows of the batch of a step, counted from 0.
  virtual Index rows(Index step) = 0;
  /// The loss of a shard of that batch, in the unit of curves: the mean over shards, weighted by
  /// their rows, is the loss of the batch.
  ///   random: for dropout and what else is drawn
  virtual Tensor loss(Index step, const Shard& shard, Random& random) = 0;
  /// Rows and loss for a `Trainer`.
  BatchLoss batch_loss() {
    return {[this](Index step) { return rows(step); },
            [this](Index step, const Shard& shard, Random& random) {
              return loss(step, shard, random);
            }};
  }

  virtual Validation validate() = 0;
  /// Enters the value "test", and items.
  virtual void test(lab::Outcome& outcome) = 0;
  /// See `support::FeedsNorms`.
  virtual bool feeds_norms(const std::string& /*parameter*/) const { return false; }
  /// Sees the gradients of each step as they are before they are clipped.
  virtual void watch(const std::vector<Tensor>& /*gradients*/) {}
};

/// A problem at one size, as tasks of papers train it.
struct Problem {
  std::string source;          ///< where the data come from, for people
  std::string data;            ///< a digest
  std::string initial_values;  ///< in words
  Json sizes;                  ///< all else that runs depend on but norm, rate and seed
  OptimizerFlags optimizer;    ///< but for its learning rate
  Index steps;
  Index eval_interval;  ///< steps between two validations; divides `steps`
  double rate;          ///< the least learning rate to try
  double seconds;       ///< that a run takes, about
  /// A net of the trial's system, with initial values from `random`, of which dropout draws next.
  std::function<std::unique_ptr<Trainee>(const lab::TaskTrial& trial, Random& random)> trainee;
  std::map<std::string, std::function<lab::Outcome()>> baselines = {};  ///< with a value "test"
  std::vector<std::string> trained_baselines = {};          ///< systems, trained once at `rate`
  std::function<Problem(std::uint64_t seed)> of_seed = {};  ///< if each seed has data of its own
};

/// Two sizes of each problem.
enum class Size {
  smoke,  ///< small nets and data, in seconds
  report  ///< in hours
};

/// Where the data of a problem come from.
struct Origin {
  std::string directory = {};  ///< of data sets; empty: the program draws its own
  std::uint64_t seed = 1;      ///< of what is drawn

  bool is_drawn() const { return directory.empty(); }
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
