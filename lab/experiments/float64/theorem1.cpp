// What detaching the statistics of layer normalization does to the gradient: Theorem 1 of Xu et
// al. 2019, "Understanding and Improving Layer Normalization", measured.
//
// For a row x of H elements let y = (x - mean) / s, g = dl/dy with mean gbar and variance D, p =
// mean(g y) and r = var(y). The factor k is how much of g's component along y is removed: 1 with
// epsilon inside the root, s / (s - epsilon) outside, H / (H - 1) for the unbiased variance.
// Exactly:
//
//   detached       mean of dl/dx     variance of dl/dx
//   nothing        0                 (D - 2 k p^2 + k^2 p^2 r) / s^2
//   mean           gbar / s          the same
//   scale          0                 D / s^2
//   both           gbar / s          D / s^2

#include <algorithm>
#include <cmath>

#include "experiments/float64/subjects.h"
#include "experiments/study.h"
#include "support/digits.h"
#include "support/image_sets.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::support;

namespace {

struct RowMoments {
  double mean, variance;
};

RowMoments moments(const Tensor& x) { return {mean(x).item(), var(x).item()}; }

constexpr const char* detached_names[] = {"nothing", "mean", "scale", "both"};
NormOptions detached(NormOptions options, int form) {
  options.detach_mean = form == 1 || form == 3;
  options.detach_scale = form >= 2;
  return options;
}

/// The theorem's prediction of dl/dx for one row.
RowMoments exact(const Tensor& x, const Tensor& g, const NormOptions& o) {
  const double length = x.size();
  const double deviation = stddev(x, {}, Keep::no, o.variance).item();
  const bool inside = o.place == Epsilon::inside_root;
  const double s = inside ? std::sqrt(deviation * deviation + o.epsilon) : deviation + o.epsilon;
  const Tensor y = layer_norm(x, o);
  const double p = mean(g * y).item(), r = var(y).item();
  const double k =
      (inside ? 1 : s / deviation) * (o.variance == Variance::unbiased ? length / (length - 1) : 1);
  const double attached = var(g).item() - 2 * k * p * p + k * k * p * p * r;
  return {o.detach_mean ? mean(g).item() / s : 0,
          (o.detach_scale ? var(g).item() : attached) / (s * s)};
}

Tensor gradient(const LayerNorm& subject, const Tensor& x, const Tensor& g,
                const NormOptions& options) {
  return vjp([&](const auto& in) { return subject.operation(in[0], options); }, {x}, g)[0];
}

struct RowSetting {
  const char* name;
  Index length;
  NormOptions options;
};

/// Measures one form on random rows under one setting: a line of the table, relative to the bound D
/// / s^2 and its root. Keeps the largest difference from the formulas.
std::vector<std::string> measure(const LayerNorm& subject, const RowSetting& setting, int form,
                                 Index rows, Random random, double& largest) {
  const NormOptions options = detached(setting.options, form);
  RowMoments sum{0, 0};
  double worst = 0;
  for (Index i = 0; i < rows; ++i) {
    const Tensor x = random.normal({setting.length}, 3, 2);
    const Tensor g = random.normal({setting.length}, 0.5) + 0.3 * x;
    const RowMoments found = moments(gradient(subject, x, g, options)),
                     expected = exact(x, g, options);
    const NormOptions both_detached{options.epsilon, true, true, options.place, options.variance};
    const double bound = exact(x, g, both_detached).variance, size = std::sqrt(bound);
    sum.mean += std::abs(found.mean) / size, sum.variance += found.variance / bound;
    worst = std::max({worst, std::abs(found.mean - expected.mean) / size,
                      std::abs(found.variance - expected.variance) / bound});
  }
  largest = std::max(largest, worst);
  const double count = rows;
  return {setting.name, detached_names[form], fmt::format("{:.6f}", sum.mean / count),
          fmt::format("{:.6f}", sum.variance / count), fmt::format("{:.0e}", worst)};
}

// Rows whose gradient vanishes or reaches its bound.
void bounds(Report& report, const LayerNorm& subject, Random& random) {
  const Tensor pair = random.normal({2}), incoming = random.normal({2});
  const double left = norm(gradient(subject, pair, incoming, {.epsilon = 0})).item();
  report.claim("Two elements without epsilon get no gradient at all: their outputs are 1 and -1.",
               fmt::format("|dl/dx| = {:.1e}", left), left < 1e-12, "below 1e-12");
  const Tensor x = random.normal({64});
  const Tensor y = layer_norm(x), along = random.normal({64});
  const Tensor across = along - mean(along) - y * (mean(along * y) / mean(square(y)));
  const RowMoments found = moments(gradient(subject, x, across, {}));
  const double bound = exact(x, across, {.detach_scale = true}).variance;
  report.claim("The variance is D / s^2, its bound, when g has no part along y.",
               fmt::format("variance / bound = 1 {:+.1e}", found.variance / bound - 1),
               std::abs(found.variance / bound - 1) < 1e-9, "within 1e-9 of 1");
}

void formulas(Report& report, const LayerNorm& subject, Index rows, Random& random) {
  const RowSetting settings[] = {
      {"H = 512", 512, {}},
      {"H = 8", 8, {}},
      {"H = 2", 2, {.epsilon = 0}},
      {"epsilon 0.5", 64, {.epsilon = 0.5}},
      {"epsilon 0.5 outside", 64, {.epsilon = 0.5, .place = Epsilon::outside_root}},
      {"unbiased", 8, {.variance = Variance::unbiased}},
  };
  Table table{"Random rows: mean of dl/dx over sqrt(D) / s, and variance over D / s^2, on average",
              {"setting", "detached", "|mean|", "variance", "from exact"},
              {}};
  double largest = 0;
  for (const RowSetting& setting : settings)
    for (int form = 0; form < 4; ++form)
      table.rows.push_back(measure(subject, setting, form, rows, random.stream(0), largest));
  report.table(table);
  report.claim(
      "The mean and the variance of dl/dx agree with the formulas, for any epsilon, its place and "
      "either variance.",
      fmt::format("the largest difference, relative to the bound, is {:.1e}", largest),
      largest < 1e-9, "below 1e-9");
  bounds(report, subject, random);
}

/// Trains a network to read digits, with a normalization before each tanh. Returns what both do to
/// the gradient, step by step.
std::vector<NormRecord> passages(const NormSpec& norm, const ImageSet& images, Index steps,
                                 std::uint64_t seed) {
  Random random(seed), order = random.stream(1);
  const auto squashed = [](const Tensor& x) { return tanh(x); };
  const Sequential net{Flatten(),
                       Linear(digit_side * digit_side, 64, random),
                       Norm(norm, 64),
                       squashed,
                       Linear(64, 64, random),
                       Norm(norm, 64),
                       squashed,
                       Linear(64, 10, random)};
  Training training = probed_training(fields(net), steps);
  train({.net = fields(net),
         .steps = RunSteps::epochs(1, steps),
         .loss =
             [&](Index) {
               const Batch batch = *Batches(images, 64, order).begin();
               return cross_entropy(net(batch.images), batch.labels);
             }},
        training);
  return training.probe()->norms();
}

/// Means over records, in standard deviations of the incoming gradient.
struct Passage {
  double mean_after = 0, mean_before = 0, ratio = 0;

  void add(const NormRecord& r, double share) {
    mean_after += share * r.mean_after / std::sqrt(r.variance_after);
    mean_before += share * r.mean_scaled / std::sqrt(r.variance_after);
    ratio += share * r.variance_ratio;
  }
};

// totals: of the four forms, in the order of `detached_names`
void training_claims(Report& report, const Passage (&totals)[4]) {
  report.claim(
      "Re-centering: in training, too, the mean of dl/dx is 0 unless the mean is detached.",
      fmt::format("{:.1e} and {:.1e} with it attached; {:.3f} and {:.3f} detached",
                  totals[0].mean_before, totals[2].mean_before, totals[1].mean_before,
                  totals[3].mean_before),
      std::max(totals[0].mean_before, totals[2].mean_before) < 1e-9 &&
          std::min(totals[1].mean_before, totals[3].mean_before) > 1e-3,
      "below 1e-9 attached, above 1e-3 detached");
  report.claim(
      "Re-scaling: the variance of dl/dx is below its bound unless the scale is detached.",
      fmt::format("{:.3f} and {:.3f} of it attached; 1 {:+.0e} and 1 {:+.0e} detached",
                  totals[0].ratio, totals[1].ratio, totals[2].ratio - 1, totals[3].ratio - 1),
      std::max(totals[0].ratio, totals[1].ratio) < 0.99 &&
          std::abs(totals[2].ratio - 1) + std::abs(totals[3].ratio - 1) < 1e-9,
      "below 0.99 attached; detached both within 1e-9 of 1");
}

void in_training(Report& report, const LayerNorm& subject, Index steps, std::uint64_t seed) {
  const ImageSets images = draw_image_sets(seed);
  Diagram variances{"Variance of dl/dx over its bound D / s^2", "optimizer steps", "ratio", {}};
  Diagram means{"Mean of s dl/dx over the deviation of g", "optimizer steps", "ratio", {}};
  Table table{"A network in training: averages over all steps, cases and both normalizations",
              {"detached", "|mean| of g", "s |mean| of dl/dx", "variance over bound"},
              {}};
  Passage totals[4];
  for (int form = 0; form < 4; ++form) {
    const std::vector<NormRecord> records =
        passages(subject.spec(detached({}, form)), images.train, steps, seed);
    variances.series.push_back({detached_names[form], {}});
    means.series.push_back({detached_names[form], {}});
    Passage& total = totals[form];
    for (std::size_t i = 0; i < records.size(); i += 2) {  // two normalizations per step
      Passage now;
      for (const NormRecord& each : {records[i], records[i + 1]}) {
        now.add(each, 0.5);
        total.add(each, 1.0 / records.size());
      }
      const double at = records[i].step;
      variances.series.back().points.emplace_back(at, now.ratio);
      means.series.back().points.emplace_back(at, now.mean_before);
    }
    table.rows.push_back({detached_names[form], fmt::format("{:.4f}", total.mean_after),
                          fmt::format("{:.1e}", total.mean_before),
                          fmt::format("{:.4f}", total.ratio)});
  }
  report.table(table);
  variances.caption =
      "With the scale detached the variance stands at its bound, 1, in every step; attached, it "
      "stays below.";
  means.caption =
      "With the mean attached nothing is left of the gradient's mean: both curves lie on 0. "
      "Detached, it passes.";
  report.figure("variance", variances, Talk::yes);
  report.figure("mean", means);
  training_claims(report, totals);
}

}  // namespace

void lab::measure_theorem1(Report& report, const LayerNorm& subject, Index rows, Index steps,
                           std::uint64_t seed) {
  Random random(seed);
  formulas(report, subject, rows, random);
  in_training(report, subject, steps, seed);
}

namespace {

struct Theorem1Flags {
  Index rows = 100, steps = 100;

  void add_to(Flags& flags, StudyRun&) {
    flags.setting("--rows", rows, "Random rows for each setting").check(between(1, 1 << 20));
    flags.setting("--steps", steps, "Training steps of the network").check(between(1, 1 << 20));
  }
};

const registry::Entry entry([] {
  return with_flags<Theorem1Flags>(
      {.name = "theorem1",
       .summary = "Measures what detached statistics do to gradients.",
       .title = "What normalization does to gradients: Theorem 1, measured",
       .introduction =
           "Layer normalization re-centers and re-scales the gradient that flows back through it. "
           "Detaching the mean or the scale takes one of the two away (Xu et al. 2019, Theorem 1); "
           "the values of the forward pass stay the same.",
       .seed = "Seed of rows, weights and digits"},
      [](StudyRun& run, const Theorem1Flags& flags) {
        measure_theorem1(run.report, {}, flags.rows, flags.steps, run.comparison.seed);
      });
});

}  // namespace
