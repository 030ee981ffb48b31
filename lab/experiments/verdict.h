#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/comparison.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// The verdict of runs of another size on a claim.
enum class Verdict {
  supported,
  contradicted,
  inconclusive,
  not_learned,  ///< a system has not learned its task, so there is nothing to judge
  at_edge       ///< the rate of a system is the least or greatest tried: another may be better
};
/// Whether runs have decided for or against the claim, or could have.
inline bool is_judged(Verdict verdict) { return verdict <= Verdict::inconclusive; }

/// A verdict and its reason.
struct Judgement {
  Verdict verdict;
  std::string reason;
  std::optional<double> p = {};  ///< at which level the claim is decided, see `Advantage::level`
  std::optional<double> power = {};  ///< of an equality that is inconclusive, see `equality_power`
};

/// A statement, what was measured, and whether that supports the statement.
struct Claim {
  std::string statement, measured;
  bool holds;
  /// How far the measurement may be from the statement, in words such as "below 1e-9".
  std::string tolerance = "";
};

/// A statement about larger runs, and the verdict of smaller ones.
struct JudgedClaim {
  std::string source;  ///< where in a paper, such as "section 6.6"; empty: it is asked here
  std::string statement, measured;
  Judgement judgement;
};

/// With fewer seeds a claim is never more than inconclusive.
inline constexpr Index least_seeds = 3;

/// How far a system is ahead of another: the mean over paired seeds, and half the width of its 95 %
/// interval, sqrt(h^2 + w^2) of `better`; 0 for one seed.
struct Advantage {
  double mean, half_width;
  std::size_t seeds;
  double error = 0;        ///< sd / sqrt(n) over seeds
  double items_width = 0;  ///< w

  /// h; infinite for one seed.
  double seeds_width() const;
  /// The level at which the interval would be so wide on each side: 0.05 for `half_width`. With the
  /// mean as the distance, the two-sided p of an advantage of 0.
  double level(double distance) const;
};
/// How far `a` is ahead of `b`. Throws DataError for results that do not pair.
Advantage advantage(const Metric& metric, const Results& a, const Results& b);

/// How much more two parts gain together than the sum of what each gains alone, in a factorial of
/// two parts: both - one - other + none, as an advantage. Throws DataError for results that do not
/// pair.
Advantage interaction(const Metric& metric, const Results& both, const Results& one,
                      const Results& other, const Results& none);

/// Whether a system beats the baseline of the metric, or there is none: whether it has learned its
/// task.
bool has_learned(const Metric& metric, const Results& results);

/// The judgement on two systems of which one has not learned its task or stands at the edge of its
/// rates. None if they can be compared.
std::optional<Judgement> not_judged(const Metric& metric, const Results& a, const Results& b);

/// On how many test items `a` is ahead of `b`, and on how many behind, seed by seed: the discordant
/// pairs of McNemar's test. Throws DataError for results that do not pair.
std::vector<std::pair<Index, Index>> discordant_items(const Metric& metric, const Results& a,
                                                      const Results& b);

/// The claim that `a` is better than `b`. With D the mean over paired seeds of the advantage of a,
/// h = t(0.975, n - 1) sd / sqrt(n) its half-width over n seeds, and w that over test items:
/// supported if D > sqrt(h^2 + w^2), since seeds and items are independent, contradicted if D is
/// below its negative, otherwise inconclusive, as always with fewer than `least_seeds`. w is 0 for
/// a metric without items, else the `bootstrap_half_width` of what a is ahead item by item, in the
/// mean over seeds. A run that diverged counts as the worst value of the metric, and so do its
/// items. Throws DataError for results that do not pair.
Judgement better(const Metric& metric, const Results& a, const Results& b);

/// The claim that both are equal up to a margin: supported if |D| + sqrt(h^2 + w^2) < margin,
/// contradicted if |D| - sqrt(h^2 + w^2) > margin.
Judgement equal(const Metric& metric, const Results& a, const Results& b, double margin);

/// The probability that `equal` supports the claim if the true difference is 0, the true variances
/// over seeds and items are those that were found, and there are as many seeds: over the sample
/// deviations of such seeds, by the midpoint rule.
double equality_power(const Advantage& found, double margin);

/// The deviation of values from the sum of an effect of their system and one of their seed, which
/// is assumed to be the same in all systems.
struct PooledDeviation {
  double deviation;
  Index degrees;  ///< of freedom: (systems - 1) (seeds - 1)

  /// Half the width of the 95 % interval of an advantage among these systems, with its w.
  double half_width(const Advantage& found) const;
};
/// Over two systems or more, with the same seeds, two or more. Throws DataError for other counts
/// of runs.
PooledDeviation pooled_deviation(const Metric& metric, const std::vector<const Results*>& systems);

/// The unit of training time.
enum class Clock { updates, seconds };

/// When two systems reach the best value of the second, in validation curves averaged over windows
/// of three.
struct TimesToBest {
  double of_a;  ///< infinite if a never does or diverged
  double of_b;  ///< infinite if it diverged

  double ratio() const { return std::isinf(of_a) ? of_a : of_a / of_b; }
};
/// Seed by seed. Throws DataError for results that do not pair, and for curves with fewer than
/// three validations.
std::vector<TimesToBest> times_to_best(const Metric& metric, const Results& a, const Results& b,
                                       Clock clock);

/// The best value of such a curve: a single validation, such as a spike at the end, decides
/// nothing. The worst value of the metric for a run that diverged. Throws DataError for a
/// curve with fewer than three validations.
double best_of_curve(const Metric& metric, const Outcome& run);

/// Their geometric mean; infinite if one of them is.
double mean_ratio(const std::vector<TimesToBest>& times);

/// The claim that `a` learns faster than `b`. For each seed, q is the ratio of `times_to_best`.
/// Supported if every q < 1 and their geometric mean is at most
/// 0.8, contradicted if every q > 1.25. metric: the validation metric. Throws what
/// `times_to_best` throws.
Judgement faster(const Metric& metric, const Results& a, const Results& b, Clock clock);

/// The claim that `a` is ahead of `b` all along: supported if the curve of `a` is better at every
/// validation with every seed, contradicted if it is worse everywhere, otherwise inconclusive. The
/// curve of a diverged run counts as the worst.
///   metric: the validation metric   last: compares no more than so many validations, the last ones
/// Throws DataError for curves without validations, or at other steps.
Judgement ahead_throughout(const Metric& metric, const Results& a, const Results& b,
                           std::optional<Index> last = {});

/// A claim with several named parts: supported if all are, contradicted if one is, and not judged
/// if one is not.
Judgement all_of(const std::vector<std::pair<std::string, Judgement>>& parts);

/// The greatest of these p that a false discovery rate of 5 % lets pass, 0 if none: the greatest
/// p_(k) of m with p_(k) <= 0.05 k / m (Benjamini and Hochberg 1995, equation 1).
double discovery_threshold(std::vector<double> p);

/// How many of these p are 0.05 or less, and how many remain with `discovery_threshold`, in words.
///   what: "claims"
std::string discoveries(const std::string& what, const std::vector<double>& p);

/// The 0.975 quantile of Student's t distribution. degrees: of freedom, 1 or more
double t_quantile(Index degrees);

/// Half the width of the 95 % interval of the mean over items: 10,000 resamples with replacement,
/// stream 77.
double bootstrap_half_width(const std::vector<double>& items);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
