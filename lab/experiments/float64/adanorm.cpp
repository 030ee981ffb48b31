// AdaNorm, z = phi(y) y with phi(y) = C (1 - k y), of Xu et al. 2019, section 4: the conditions of
// their Theorem 2 measured, Chebyshev's bound, and the effect of letting gradients through the
// factor. The experiment theorem2 seeks other factors.

#include <algorithm>
#include <cmath>

#include "experiments/float64/subjects.h"
#include "experiments/study.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;

namespace {

constexpr double exact_below = 1e-9;

/// Rows of different shapes: normal, skewed, and with a few large values.
std::vector<std::pair<std::string, Tensor>> rows(Index count, Index length, Random& random) {
  const Tensor normal = random.normal({count, length});
  return {{"normal", normal},
          {"skewed", exp(normal)},
          {"heavy", normal / (0.01 + abs(random.normal({count, length})))}};
}

void conditions(Report& report, const AdaNorm& subject, Random& random) {
  constexpr double C = 1.5, k = 0.1;
  Table table{
      "The conditions of Theorem 2: the factor's mean, the output's mean and the share of large "
      "values (C = 1.5, k = 1/10, H = 512); the largest of 500 rows each",
      {"rows", "|mean phi - C|", "|mean z + C k|", "share of |y| >= 10"},
      {}};
  double worst = 0, worst_share = 0;
  for (const auto& [name, x] : rows(500, 512, random)) {
    const Tensor y = subject.normalize(x);
    const Tensor z = subject.scale(y, {.factor = C, .slope = k});
    const double factor = max(abs(mean(z / y, -1) - C)).item();
    const double output = max(abs(mean(z, -1) + C * k)).item();
    const double share = max(mean(greater_equal(abs(y), 1 / k), -1)).item();
    worst = std::max({worst, factor, output});
    worst_share = std::max(worst_share, share);
    table.rows.push_back({name, fmt::format("{:.1e}", factor), fmt::format("{:.1e}", output),
                          fmt::format("{:.4f}", share)});
  }
  report.table(table);
  report.claim("The factor's mean is C and the output's mean is -C k, for every row.",
               fmt::format("largest distance {:.1e}", worst), worst < exact_below, "below 1e-9");
  report.claim(
      "Chebyshev's bound (eq. 7): at most k^2 = 1 % of a row's values reach 1 / k = 10, where "
      "the factor turns negative.",
      fmt::format("the worst row has {:.2f} %", 100 * worst_share), worst_share <= k * k);
}

void negative_factors(Report& report, const AdaNorm& subject) {
  Series series{"least factor, C = 1, k = 1/10", {}};
  double at_101 = 0, at_102 = 0;
  for (Index length = 2; length <= 300; ++length) {
    // A row with a single 1 gives the largest possible |y|.
    const Tensor y = subject.normalize(one_hot(Indices({1}, {0}), length));
    const double least = min(subject.scale(y, {.factor = 1, .slope = 0.1}) / y).item();
    if (length == 101) at_101 = least;
    if (length == 102) at_102 = least;
    series.points.emplace_back(length, least);
  }
  report.figure(
      "factor",
      {.title = "The least factor that a row can get",
       .x_label = "H",
       .y_label = "phi",
       .series = {series},
       .caption = "A row with a single 1 has the largest value. Its factor is negative from 102 "
                  "elements on."},
      Talk::yes);
  report.claim(
      "The factor cannot turn negative up to H = 101, and can from 102 on: the largest |y| "
      "is sqrt(H - 1).",
      fmt::format("least factor {:.1e} at 101, {:.4f} at 102", at_101, at_102),
      at_101 > -exact_below && at_102 < 0, "above -1e-9 at 101, below 0 at 102");
}

void gradients(Report& report, const AdaNorm& subject, Random& random) {
  const Tensor x = random.normal({100, 64}, 1, 2), g = random.normal({100, 64}, 0.3);
  const auto through = [&](const AdaOptions& options) {
    return vjp([&](const auto& in) { return subject.scale(subject.normalize(in[0]), options); },
               {x}, g)[0];
  };
  const auto layer = [&](const Tensor& seed) {
    return vjp([&](const auto& in) { return subject.normalize(in[0]); }, {x}, seed)[0];
  };
  const Tensor y = subject.normalize(x);
  Table table{"Gradients: which factor the incoming gradient is multiplied with",
              {"C", "k", "detached: C (1 - k y)", "not: C (1 - 2 k y)", "between them"},
              {}};
  double worst = 0, least_gap = INFINITY;
  for (const double C : {0.5, 1.0, 2.0})
    for (const double k : {0.05, 0.1, 0.2}) {
      const Tensor detached = through({.factor = C, .slope = k});
      const Tensor attached = through({.factor = C, .slope = k, .detach_factor = false});
      const double size = norm(detached).item();
      const double a = norm(detached - layer(C * (1 - k * y) * g)).item() / size;
      const double b = norm(attached - layer(C * (1 - 2 * k * y) * g)).item() / size;
      const double gap = norm(attached - detached).item() / size;
      worst = std::max({worst, a, b});
      least_gap = std::min(least_gap, gap);
      table.rows.push_back({fmt::format("{}", C), fmt::format("{}", k), fmt::format("{:.0e}", a),
                            fmt::format("{:.0e}", b), fmt::format("{:.3f}", gap)});
    }
  report.table(table);
  report.claim(
      "AdaNorm passes back the gradient of layer normalization with phi g in place of g; without "
      "the detached factor, with C (1 - 2 k y) g.",
      fmt::format("largest relative distance {:.1e}; the two differ by {:.3f} or more", worst,
                  least_gap),
      worst < exact_below && least_gap > 1e-3, "below 1e-9; they differ by more than 1e-3");
}

}  // namespace

void lab::measure_adanorm(Report& report, const AdaNorm& subject, Random random) {
  conditions(report, subject, random);
  negative_factors(report, subject);
  gradients(report, subject, random);
}

namespace {

const registry::Entry entry([] {
  return Study{
      .name = "adanorm",
      .summary = "Measures what AdaNorm's factor does.",
      .title = "AdaNorm: a factor that adapts to the value",
      .introduction =
          "AdaNorm multiplies normalized values y by C (1 - k y), a factor detached from the "
          "gradient. Everything here is computed without epsilon.",
      .seed = "Seed of rows and gradients",
      .run = [](StudyRun& run) { measure_adanorm(run.report, {}, run.random()); }};
});

}  // namespace
