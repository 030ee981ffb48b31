#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "experiments/ledger.h"
#include "tapegrad/cluster/cluster.h"
#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/random.h"
#include "tapegrad/train/flags.h"
#include "tapegrad/train/plot.h"
#include "tapegrad/train/spread.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// One run of a system, with one of several seeds. Systems with the same seed start from the
/// same weights and see the same batches.
struct Trial {
  std::uint64_t seed;
  Index number = 0;  ///< among the runs of all systems that the comparison trains with it

  /// For the initial weights, then for dropout. Numbers that only some systems draw come from a
  /// stream of it, so that the other systems' numbers stay the same.
  Random weights() const { return Random(seed); }
  Random batches() const { return Random(seed).stream(0); }
};

/// One of the things to compare, such as a net with one of several norms.
struct System {
  std::string name;                            ///< also in the ledger
  Json configuration;                          ///< everything its runs depend on
  std::function<Outcome(const Trial&)> train;  ///< returns even if the run diverges
};

/// A value at the end of every run, by which systems are compared.
struct Metric {
  std::string value;  ///< its name among the values of an outcome
  bool higher_is_better = false;
  double worst = INFINITY;              ///< the value of a diverged run
  bool of_items = false;                ///< whether it is the mean over the test items
  std::optional<double> baseline = {};  ///< of a rule without a net, which a system must beat

  /// Throws DataError if the outcome has no such value.
  double of(const Outcome& outcome) const;
  /// How much better a is than b; 0 if they are equal, even if infinite.
  double advantage(double a, double b) const;
};

/// The outcomes of a system's runs, in the order of their seeds.
struct Results {
  std::string system;
  std::vector<Outcome> runs = {};
  bool at_edge = false;  ///< whether a rate further out may be better: then nothing is judged

  std::vector<double> values(const Metric& metric) const;
  Spread spread(const Metric& metric) const { return Spread(values(metric)); }
};

/// The first seed with which settings are tried, and the only one unless a task has several.
inline constexpr std::uint64_t choosing_seed = 101;

/// What every comparison lets its users choose.
struct ComparisonFlags {
  Index seeds;  ///< runs of each system, with seed, seed + 1, ...
  std::uint64_t seed = 1;
  int threads = tapegrad::threads();

  /// Adds --seeds, which must be `fewest_seeds` at least, --seed and --threads.
  void add_to(Flags& flags, Index fewest_seeds);
  /// Throws FlagError if one of the seeds is among the first `count` that choose settings.
  void leave_out_choosing_seeds(Index count) const;
};

/// Trains systems with the same seeds. Does not repeat what the ledger has. The processes of a
/// cluster divide the runs among them; each trains alone.
class Comparison {
 public:
  /// Throws Error on all processes unless they have the same version, instruction set and data.
  Comparison(Cluster& cluster, const Ledger& ledger, const ComparisonFlags& flags);

  /// Whether this process shows progress.
  bool is_first() const { return cluster_.is_first(); }

  /// Trains these systems with every seed. The outcomes are the same on all processes.
  ///   trained(results): called for one system after the other, as soon as this process knows all
  ///   outcomes of that system and of those before
  /// Throws ArgumentError for systems of the same name, and what Ledger::outcome and the systems
  /// throw.
  std::vector<Results> train(const std::vector<System>& systems,
                             const std::function<void(const Results&)>& trained = {}) const;

 private:
  struct Run {
    const System& system;
    Trial trial;
    Index process = 0;  ///< trains it, or reads it from the ledger
    std::optional<Outcome> outcome = {};
  };

  /// The runs of all systems. Those that the ledger lacks go to the processes in turn.
  std::vector<Run> divided(const std::vector<System>& systems) const;

  Cluster& cluster_;
  const Ledger& ledger_;
  ComparisonFlags flags_;
};

/// The training losses of a system, averaged over seeds at each point, with their sample standard
/// deviations if there are several seeds. Throws DataError if the curves have different lengths.
Series mean_training_curve(const Results& results);
/// The mean curve of the measurements on held-out data during training.
Series mean_validation_curve(const Results& results);
/// The mean curve of a trace, which each of the runs must have.
Series mean_trace(const Results& results, const std::string& trace);
/// Reduces a curve with one point per step, from 1, to means over about fifty stretches of equal
/// length; a deviation becomes the mean of those in its stretch.
Series thinned(const Series& curve);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
