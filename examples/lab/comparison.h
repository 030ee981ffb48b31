#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lab/ledger.h"
#include "tapegrad/core/random.h"
#include "tapegrad/train/plot.h"
#include "tapegrad/train/spread.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// A training of a system with one of several seeds. Systems with the same seed start from the same
/// weights and see the same batches.
struct Trial {
  std::uint64_t seed;
  double rate = 0;  ///< the learning rate, if the comparison chooses it

  /// Of the initial weights, then of dropout. What only some systems draw they take from a stream
  /// of it, so that the others' numbers stay the same.
  Random weights() const { return Random(seed); }
  Random batches() const { return Random(seed).stream(0); }
};

/// What is compared: a net with one of several norms, say.
struct System {
  std::string name;                            ///< also of its folder in the ledger
  Json configuration;                          ///< what its trainings depend on
  std::function<Outcome(const Trial&)> train;  ///< a training that diverges ends as well
};

/// A value by which systems are compared: one that every training ends with.
struct Metric {
  std::string value;  ///< its name among the values of an outcome
  bool higher_is_better = false;
  double worst = INFINITY;              ///< what a training that diverged counts as
  bool of_items = false;                ///< whether it is the mean of the items of the test
  std::optional<double> baseline = {};  ///< of a rule without a net, which a system has to beat

  /// Throws DataError if the outcome has no such value.
  double of(const Outcome& outcome) const;
  /// How much better a is than b; 0 if they are the same, infinite or not.
  double advantage(double a, double b) const;
};

/// What a system's trainings found, in the order of their seeds.
struct Results {
  std::string system;
  double rate = 0;  ///< the learning rate, if the comparison has chosen it
  std::vector<Outcome> trainings = {};

  std::vector<double> values(const Metric& metric) const;
  Spread spread(const Metric& metric) const { return Spread(values(metric)); }
};

/// Trains systems, each with the same seeds. What the ledger has is not repeated.
class Comparison {
 public:
  /// The seeds are first_seed, first_seed + 1, ...
  Comparison(const Ledger& ledger, std::uint64_t first_seed, Index seeds)
      : ledger_(ledger), first_seed_(first_seed), seeds_(seeds) {}

  /// Throws what Ledger::outcome throws, and what the system does.
  Results train(const System& system) const { return train(system, 0); }
  /// The same at that of the learning rates with which a training with seed 101 ends best.
  Results train_at_best_rate(const System& system, const std::vector<double>& rates,
                             const Metric& metric) const;

 private:
  Results train(const System& system, double rate) const;

  const Ledger& ledger_;
  std::uint64_t first_seed_;
  Index seeds_;
};

/// "none 0.003, layer 0.001": which learning rate each system got.
std::string rates_text(const std::vector<Results>& results);

/// The training losses of a system, point by point the mean over seeds.
Series mean_training_curve(const Results& results);
/// The same of what was measured on the way on data that was held out.
Series mean_validation_curve(const Results& results);
/// A curve with one point a step, from 1, as means over about fifty stretches of equal length.
Series thinned(const Series& curve);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
