#include "experiments/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numbers>

#include "tapegrad/core/error.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

// The probability of |T| <= t: Abramowitz and Stegun, 26.7.3 and 26.7.4.
double t_probability(double t, Index degrees) {
  const double angle = std::atan(t / std::sqrt(degrees));
  const double cosine = std::cos(angle), sine = std::sin(angle);
  const bool odd = degrees % 2 == 1;
  double term = odd ? cosine : 1, sum = degrees == 1 ? 0 : term;
  for (Index k = odd ? 3 : 2; k < degrees; k += 2) {
    term *= cosine * cosine * (k - 1) / k;
    sum += term;
  }
  return odd ? 2 / std::numbers::pi * (angle + sine * sum) : sine * sum;
}

// The advantages of a over b, seed by seed.
std::vector<double> advantages(const Metric& metric, const Results& a, const Results& b) {
  expect<DataError>(a.runs.size() == b.runs.size() && !a.runs.empty(),
                    "{} and {}: {} and {} runs cannot be paired", a.system, b.system, a.runs.size(),
                    b.runs.size());
  const std::vector<double> of_a = a.values(metric), of_b = b.values(metric);
  std::vector<double> result;
  for (std::size_t i = 0; i < of_a.size(); ++i)
    result.push_back(metric.advantage(of_a[i], of_b[i]));
  return result;
}

// Names a run in messages.
const std::string& source_of(const Results& results, const Outcome& run) {
  return run.source.empty() ? results.system : run.source;
}

// The advantages of a over b on each item, averaged over seeds; none for a metric without items.
std::vector<double> item_advantages(const Metric& metric, const Results& a, const Results& b) {
  if (!metric.of_items) return {};
  const std::size_t items = a.runs.front().items.size();
  std::vector<double> result(items);
  const auto item = [&](const Outcome& run, std::size_t i) {
    return run.diverged() ? metric.worst : run.items[i];
  };
  for (std::size_t seed = 0; seed < a.runs.size(); ++seed) {
    const Outcome &of_a = a.runs[seed], &of_b = b.runs[seed];
    expect<DataError>(of_a.items.size() == items && of_b.items.size() == items,
                      "{} and {}: {} and {} test items cannot be paired", source_of(a, of_a),
                      source_of(b, of_b), of_a.items.size(), of_b.items.size());
    for (std::size_t i = 0; i < items; ++i)
      result[i] += metric.advantage(item(of_a, i), item(of_b, i)) / a.runs.size();
  }
  return result;
}

std::vector<double> difference(std::vector<double> a, const std::vector<double>& b) {
  std::ranges::transform(a, b, a.begin(), std::minus());
  return a;
}

// items: what gives the advantages on each item, which only some metrics have
Advantage over_seeds(const std::vector<double>& by_seed,
                     const std::function<std::vector<double>()>& items) {
  const Spread spread(by_seed);
  Advantage found{spread.mean, 0, by_seed.size()};
  if (!std::isfinite(found.mean)) {  // some diverged, or all
    const bool all = std::all_of(by_seed.begin(), by_seed.end(),
                                 [&](double each) { return each == by_seed.front(); });
    found.half_width = all ? 0 : INFINITY;
  } else if (found.seeds > 1) {
    found.error = spread.deviation / std::sqrt(found.seeds);
    found.items_width = bootstrap_half_width(items());
    found.half_width = std::hypot(found.seeds_width(), found.items_width);
  }
  return found;
}

// distance: from the mean to where the verdict would change
Judgement judged(const Advantage& found, bool for_it, bool against_it, double distance) {
  if (found.seeds < least_seeds)
    return {Verdict::inconclusive,
            fmt::format("{:+.3g} (a verdict needs {} seeds)", found.mean, least_seeds)};
  return {for_it       ? Verdict::supported
          : against_it ? Verdict::contradicted
                       : Verdict::inconclusive,
          fmt::format("{:+.3g} +- {:.2g} ({} seeds)", found.mean, found.half_width, found.seeds),
          found.level(distance)};
}

// Where a function that falls from above `target` to below it takes that value, between 0 and high.
template <class Falling>
double crossing(double target, double high, const Falling& f) {
  double low = 0;
  for (int halving = 0; halving < 80; ++halving) {
    const double middle = (low + high) / 2;
    (f(middle) > target ? low : high) = middle;
  }
  return high;
}

// Two-sided, of the normal distribution.
double normal_level(double z) { return std::erfc(z / std::numbers::sqrt2); }

double normal_quantile() { return crossing(0.05, 10, normal_level); }

// By their steps.
std::vector<std::pair<double, double>> validations(const Outcome& run) {
  std::vector<std::pair<double, double>> points;
  for (const CurvePoint& point : run.curve)
    if (point.validation) points.emplace_back(point.step, *point.validation);
  return points;
}

// The means of three successive validations, by the time at the last of them.
std::vector<std::pair<double, double>> windows(const Outcome& run, Clock clock) {
  const std::vector<std::pair<double, double>> points = validations(run);
  std::vector<std::pair<double, double>> result;
  expect_part(
      points.size() >= 3, run,
      fmt::format("its curve has {} validations, too few to find when it learns", points.size()));
  const double update = clock == Clock::updates ? 1 : run.seconds / last_point(run).step;
  for (std::size_t i = 2; i < points.size(); ++i)
    result.emplace_back(points[i].first * update,
                        (points[i - 2].second + points[i - 1].second + points[i].second) / 3);
  return result;
}

std::pair<double, double> best_window(const Metric& metric,
                                      const std::vector<std::pair<double, double>>& windows) {
  return *std::max_element(windows.begin(), windows.end(), [&](const auto& x, const auto& y) {
    return metric.advantage(y.second, x.second) > 0;
  });
}

TimesToBest times_of_seed(const Metric& metric, const Results& a, const Results& b,
                          std::size_t seed, Clock clock) {
  if (a.runs[seed].diverged()) return {INFINITY, INFINITY};
  if (b.runs[seed].diverged()) return {0, INFINITY};
  const auto of_a = windows(a.runs[seed], clock);
  const auto [when, best] = best_window(metric, windows(b.runs[seed], clock));
  const auto reached = std::find_if(of_a.begin(), of_a.end(), [&, best = best](const auto& x) {
    return metric.advantage(x.second, best) >= 0;
  });
  return {reached == of_a.end() ? INFINITY : reached->first, when};
}

}  // namespace

double best_of_curve(const Metric& metric, const Outcome& run) {
  if (run.diverged()) return metric.worst;
  return best_window(metric, windows(run, Clock::updates)).second;
}

Advantage advantage(const Metric& metric, const Results& a, const Results& b) {
  return over_seeds(advantages(metric, a, b), [&] { return item_advantages(metric, a, b); });
}

Advantage interaction(const Metric& metric, const Results& both, const Results& one,
                      const Results& other, const Results& none) {
  return over_seeds(
      difference(advantages(metric, both, one), advantages(metric, other, none)), [&] {
        return difference(item_advantages(metric, both, one), item_advantages(metric, other, none));
      });
}

double Advantage::seeds_width() const {
  return seeds < 2 ? INFINITY : t_quantile(seeds - 1) * error;
}

double Advantage::level(double distance) const {
  if (std::isinf(half_width) || !(distance > 0)) return 1;
  const Index degrees = seeds - 1;
  const double of_items = items_width / normal_quantile();
  // By Student's t, and the normal quantile of the same level.
  const auto level_of = [&](double t) { return 1 - t_probability(t, degrees); };
  return level_of(crossing(-distance, 1e6, [&](double t) {
    return -std::hypot(t * error, crossing(level_of(t), 40, normal_level) * of_items);
  }));
}

bool has_learned(const Metric& metric, const Results& results) {
  return !metric.baseline || metric.advantage(results.spread(metric).mean, *metric.baseline) > 0;
}

std::optional<Judgement> not_judged(const Metric& metric, const Results& a, const Results& b) {
  for (const Results& each : {a, b})
    if (!has_learned(metric, each))
      return Judgement{Verdict::not_learned,
                       fmt::format("{} has not learned at this size: {:.3g}; its baseline {:.3g}",
                                   each.system, each.spread(metric).mean, *metric.baseline)};
  for (const Results& each : {a, b})
    if (each.at_edge)
      return Judgement{
          Verdict::at_edge,
          fmt::format("the rate of {} is at the edge of the rates that were tried", each.system)};
  return {};
}

std::vector<std::pair<Index, Index>> discordant_items(const Metric& metric, const Results& a,
                                                      const Results& b) {
  std::vector<std::pair<Index, Index>> counts;
  for (std::size_t seed = 0; seed < advantages(metric, a, b).size(); ++seed) {
    auto& [ahead, behind] = counts.emplace_back();
    for (const double each :
         item_advantages(metric, {a.system, {a.runs[seed]}}, {b.system, {b.runs[seed]}})) {
      ahead += each > 0 ? 1 : 0;
      behind += each < 0 ? 1 : 0;
    }
  }
  return counts;
}

Judgement better(const Metric& metric, const Results& a, const Results& b) {
  if (const auto none = not_judged(metric, a, b)) return *none;
  const Advantage found = advantage(metric, a, b);
  return judged(found, found.mean > found.half_width, found.mean < -found.half_width,
                std::abs(found.mean));
}

Judgement equal(const Metric& metric, const Results& a, const Results& b, double margin) {
  if (const auto none = not_judged(metric, a, b)) return *none;
  const Advantage found = advantage(metric, a, b);
  const double distance = std::abs(found.mean);
  const bool within = distance + found.half_width < margin;
  const bool beyond = distance - found.half_width > margin;
  Judgement judgement = judged(found, within, beyond, std::abs(margin - distance));
  if (judgement.verdict == Verdict::inconclusive) judgement.power = equality_power(found, margin);
  return judgement;
}

double equality_power(const Advantage& found, double margin) {
  if (static_cast<Index>(found.seeds) < least_seeds || std::isinf(found.half_width)) return 0;
  const double degrees = found.seeds - 1;
  const double of_mean = std::hypot(found.error, found.items_width / normal_quantile());
  double all = 0, supporting = 0;
  constexpr double step = 0.002, most = 8;
  for (double ratio = step / 2; ratio < most; ratio += step) {
    // The density of the ratio of a sample deviation to the true one, up to a factor.
    const double density = std::exp((degrees - 1) * std::log(ratio) - degrees * ratio * ratio / 2);
    all += density;
    const double room = margin - std::hypot(ratio * found.seeds_width(), found.items_width);
    if (room > 0) supporting += density * (1 - normal_level(room / of_mean));
  }
  return supporting / all;
}

double PooledDeviation::half_width(const Advantage& found) const {
  return std::hypot(t_quantile(degrees) * deviation * std::sqrt(2.0 / found.seeds),
                    found.items_width);
}

PooledDeviation pooled_deviation(const Metric& metric, const std::vector<const Results*>& systems) {
  const std::size_t seeds = systems.empty() ? 0 : systems.front()->runs.size();
  expect<DataError>(systems.size() >= 2 && seeds >= 2, "{} systems with {} seeds cannot be pooled",
                    systems.size(), seeds);
  std::vector<double> of_seeds(seeds);
  for (const Results* each : systems) {
    expect<DataError>(each->runs.size() == seeds, "{}: {} runs cannot be pooled with {}",
                      each->system, each->runs.size(), seeds);
    const Spread spread = each->spread(metric);
    for (std::size_t i = 0; i < seeds; ++i)
      of_seeds[i] += (metric.of(each->runs[i]) - spread.mean) / systems.size();
  }
  double squares = 0;
  for (const Results* each : systems) {
    const Spread spread = each->spread(metric);
    for (std::size_t i = 0; i < seeds; ++i) {
      const double residual = metric.of(each->runs[i]) - spread.mean - of_seeds[i];
      squares += residual * residual;
    }
  }
  const Index degrees = (std::ssize(systems) - 1) * (static_cast<Index>(seeds) - 1);
  return {std::sqrt(squares / degrees), degrees};
}

std::vector<TimesToBest> times_to_best(const Metric& metric, const Results& a, const Results& b,
                                       Clock clock) {
  std::vector<TimesToBest> times;
  for (std::size_t seed = 0; seed < advantages(metric, a, b).size(); ++seed)
    times.push_back(times_of_seed(metric, a, b, seed, clock));
  return times;
}

double mean_ratio(const std::vector<TimesToBest>& times) {
  double logarithms = 0;
  for (const TimesToBest& each : times) {
    if (std::isinf(each.ratio())) return INFINITY;
    logarithms += std::log(each.ratio()) / times.size();
  }
  return std::exp(logarithms);
}

Judgement faster(const Metric& metric, const Results& a, const Results& b, Clock clock) {
  if (const auto none = not_judged(metric, a, b)) return *none;
  const std::vector<TimesToBest> times = times_to_best(metric, a, b, clock);
  const std::size_t seeds = times.size();
  std::vector<double> ratios;
  for (const TimesToBest& each : times) ratios.push_back(each.ratio());
  const double mean = mean_ratio(times);
  const auto [least, greatest] = std::minmax_element(ratios.begin(), ratios.end());
  const std::string measured =
      fmt::format("{:.3g} of its {} in the geometric mean, from {:.3g} to {:.3g}", mean,
                  clock == Clock::updates ? "updates" : "seconds", *least, *greatest);
  if (seeds < least_seeds)
    return {Verdict::inconclusive,
            fmt::format("{} (a verdict needs {} seeds)", measured, least_seeds)};
  return {*greatest < 1 && mean <= 0.8 ? Verdict::supported
          : *least > 1.25              ? Verdict::contradicted
                                       : Verdict::inconclusive,
          fmt::format("{} ({} seeds)", measured, seeds)};
}

Judgement ahead_throughout(const Metric& metric, const Results& a, const Results& b,
                           std::optional<Index> last) {
  if (const auto none = not_judged(metric, a, b)) return *none;
  const std::size_t seeds = advantages(metric, a, b).size();
  Index points = 0, ahead = 0, behind = 0;
  for (std::size_t seed = 0; seed < seeds; ++seed) {
    const auto of_a = validations(a.runs[seed]), of_b = validations(b.runs[seed]);
    expect<DataError>(!of_a.empty() && of_a.size() == of_b.size(),
                      "{} and {}: {} and {} validations cannot be paired", a.system, b.system,
                      of_a.size(), of_b.size());
    const std::size_t compared =
        std::min(of_a.size(), last ? static_cast<std::size_t>(*last) : of_a.size());
    for (std::size_t i = of_a.size() - compared; i < of_a.size(); ++i) {
      expect<DataError>(of_a[i].first == of_b[i].first,
                        "{} and {}: validations after {} and {} steps cannot be paired", a.system,
                        b.system, of_a[i].first, of_b[i].first);
      const auto value = [&](const Outcome& run, const auto& point) {
        return run.diverged() ? metric.worst : point.second;
      };
      const double advantage =
          metric.advantage(value(a.runs[seed], of_a[i]), value(b.runs[seed], of_b[i]));
      ++points;
      ahead += advantage > 0 ? 1 : 0;
      behind += advantage < 0 ? 1 : 0;
    }
  }
  const bool enough = static_cast<Index>(seeds) >= least_seeds;
  return {enough && ahead == points    ? Verdict::supported
          : enough && behind == points ? Verdict::contradicted
                                       : Verdict::inconclusive,
          fmt::format("ahead at {} of {} validations, behind at {} ({} seeds)", ahead, points,
                      behind, seeds)};
}

Judgement all_of(const std::vector<std::pair<std::string, Judgement>>& parts) {
  Judgement whole{Verdict::supported, ""};
  for (const auto& [name, part] : parts) {
    whole.reason += fmt::format("{}{} {}", whole.reason.empty() ? "" : ", ", name, part.reason);
    if (!is_judged(whole.verdict)) continue;
    if (!is_judged(part.verdict) ||
        (whole.verdict != Verdict::contradicted && part.verdict != Verdict::supported))
      whole.verdict = part.verdict;
  }
  return whole;
}

double discovery_threshold(std::vector<double> p) {
  std::ranges::sort(p);
  const double count = p.size();
  for (std::size_t k = p.size(); k > 0; --k)
    if (p[k - 1] <= 0.05 * k / count) return p[k - 1];
  return 0;
}

std::string discoveries(const std::string& what, const std::vector<double>& p) {
  const double threshold = discovery_threshold(p);
  const auto count = [&](double most) {
    return std::ranges::count_if(p, [&](double each) { return each <= most; });
  };
  return fmt::format(
      "Of {} {} with a p, {} have one of 0.05 or less; at a false discovery rate of 5 % (Benjamini "
      "and "
      "Hochberg), {}",
      p.size(), what, count(0.05),
      count(threshold) == 0 ? "none remains"
                            : fmt::format("{} remain, those with a p of {:.2g} or less",
                                          count(threshold), threshold));
}

double t_quantile(Index degrees) {
  expect(degrees >= 1, "t_quantile: needs at least one degree of freedom: {}", degrees);
  double low = 0, high = 13;  // above the quantile of one degree
  for (int halving = 0; halving < 60; ++halving) {
    const double middle = (low + high) / 2;
    (t_probability(middle, degrees) < 0.95 ? low : high) = middle;
  }
  return high;
}

double bootstrap_half_width(const std::vector<double>& items) {
  constexpr std::size_t resamples = 10000;
  if (items.empty()) return 0;
  const double count = items.size();
  Random random = Random(1).stream(77);
  std::vector<double> means(resamples);
  for (double& mean : means) {
    const Tensor places = random.uniform({std::ssize(items)});
    for (const real place : places.values()) mean += items[static_cast<std::size_t>(place * count)];
    mean /= count;
  }
  std::sort(means.begin(), means.end());
  return (means[resamples * 975 / 1000] - means[resamples * 25 / 1000]) / 2;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
