// AdaNorm, z = phi(y) y with phi(y) = C (1 - k y), of Xu et al. 2019, section 4: the conditions of
// their Theorem 2 measured, a second family that meets them, Chebyshev's bound, and the effect of
// letting gradients through the factor.

#include <algorithm>
#include <cmath>

#include "lab/registry.h"
#include "lab/report.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;

namespace {

const NormOptions sharp{.epsilon = 0};

/// Rows of different shapes: normal, skewed, and with a few large values.
std::vector<std::pair<std::string, Tensor>> rows(Index count, Index length, Random& random) {
  const Tensor normal = random.normal({count, length});
  return {{"normal", normal},
          {"skewed", exp(normal)},
          {"heavy", normal / (0.01 + abs(random.normal({count, length})))}};
}

// A row with a single 1, which gives the largest possible |y|.
Tensor one_hot_row(Index length) {
  Tensor row = zeros({1, length});
  row.mutable_data()[0] = 1;
  return row;
}

void conditions(Report& report, Random& random) {
  constexpr double C = 1.5, k = 0.1;
  Table table{
      "Theorem 2: the mean factor, the mean output and the share of large values (C = 1.5, "
      "k = 1/10, H = 512)",
      {"rows", "mean phi - C", "mean z + C k", "share of |y| >= 10"},
      {}};
  double worst = 0, worst_share = 0;
  for (const auto& [name, x] : rows(500, 512, random)) {
    const Tensor y = layer_norm(x, sharp), phi = C * (1 - k * y);
    const Tensor z = ada_scale(y, {.factor = C, .slope = k});
    const double factor = max(abs(mean(phi, -1) - C)).item();
    const double output = max(abs(mean(z, -1) + C * k)).item();
    const double share = max(mean(greater_equal(abs(y), 1 / k), -1)).item();
    worst = std::max({worst, factor, output});
    worst_share = std::max(worst_share, share);
    table.rows.push_back({name, fmt::format("{:.1e}", factor), fmt::format("{:.1e}", output),
                          fmt::format("{:.4f}", share)});
  }
  report.table(table);
  report.claim("The factor's mean is C and the output's mean is -C k, for every row.",
               fmt::format("largest distance {:.1e}", worst), worst < 1e-9);
  report.claim(
      "Chebyshev's bound (eq. 7): at most k^2 = 1 % of a row's values reach 1 / k = 10, where "
      "the factor turns negative.",
      fmt::format("the worst row has {:.2f} %", 100 * worst_share), worst_share <= k * k);
}

void second_family(Report& report, Random& random) {
  constexpr double C = 1, k = 0.1, b = 0.05;
  const auto quadratic = [&](const Tensor& y) { return C * (1 - k * y) + b * (square(y) - 1); };
  double factor = 0;
  for (const auto& [name, x] : rows(200, 64, random)) {
    const Tensor y = layer_norm(x, sharp);
    factor = std::max(factor, max(abs(mean(quadratic(y), -1) - C)).item());
  }
  report.claim(
      "C (1 - k y) is not the only factor whose mean is C for every row: so is that plus "
      "b (y^2 - 1), because the mean of y^2 is 1.",
      fmt::format("largest |mean - C| is {:.1e} with b = 0.05", factor), factor < 1e-9);
  Series measured{"|mean z|, b = 0.05", {}}, formula{"b (H - 2) / sqrt(H - 1) - C k", {}};
  double distance = 0;
  for (const Index length : {4, 16, 64, 256, 1024, 4096}) {
    const Tensor y = layer_norm(one_hot_row(length), sharp);
    const auto H = static_cast<double>(length);
    const double found = mean(quadratic(y) * y).item();
    const double expected = b * (H - 2) / std::sqrt(H - 1) - C * k;
    distance = std::max(distance, std::abs(found - expected));
    measured.points.emplace_back(std::log2(H), found);
    formula.points.emplace_back(std::log2(H), expected);
  }
  report.figure("second_family", {"Mean output of the second family on a row with one 1",
                                  "log2 H",
                                  "mean of z",
                                  {measured, formula}});
  report.claim(
      "What excludes that family is the bound on the mean output, if it may not depend on H: "
      "the mean grows like b sqrt(H).",
      fmt::format("{:.2f} at H = 4, {:.2f} at H = 4096; from the formula by {:.1e}",
                  measured.points.front().second, measured.points.back().second, distance),
      distance < 1e-9 && measured.points.back().second > 2);
}

void negative_factors(Report& report) {
  Series series{"least factor, C = 1, k = 1/10", {}};
  double at_101 = 0, at_102 = 0;
  for (Index length = 2; length <= 300; ++length) {
    const double least = min(1 - 0.1 * layer_norm(one_hot_row(length), sharp)).item();
    if (length == 101) at_101 = least;
    if (length == 102) at_102 = least;
    series.points.emplace_back(static_cast<double>(length), least);
  }
  report.figure("factor", {"The least factor that a row can get", "H", "1 - y / 10", {series}});
  report.claim(
      "The factor cannot turn negative up to H = 101, and can from 102 on: the largest |y| "
      "is sqrt(H - 1).",
      fmt::format("least factor {:.1e} at 101, {:.4f} at 102", at_101, at_102),
      at_101 > -1e-9 && at_102 < 0);
}

void gradients(Report& report, Random& random) {
  const Tensor x = random.normal({100, 64}, 1, 2), g = random.normal({100, 64}, 0.3);
  const auto through = [&](const AdaOptions& options) {
    return vjp([&](const auto& in) { return ada_scale(layer_norm(in[0], sharp), options); }, {x},
               g)[0];
  };
  const auto layer = [&](const Tensor& seed) {
    return vjp([](const auto& in) { return layer_norm(in[0], sharp); }, {x}, seed)[0];
  };
  const Tensor y = layer_norm(x, sharp);
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
      "AdaNorm's gradient is that of layer normalization with phi g in the place of g; "
      "without the detached factor, with C (1 - 2 k y) g.",
      fmt::format("largest relative distance {:.1e}; the two differ by {:.3f} or more", worst,
                  least_gap),
      worst < 1e-9 && least_gap > 1e-3);
}

int run(const registry::Experiment& self, int argc, char** argv) {
  Flags flags(argv[0], self.summary);
  Report report;
  std::uint64_t seed = 1;
  flags.setting("--seed", seed, "Seed of rows and gradients");
  report.add_to(flags);
  return flags.run(argc, argv, [&] {
    report.begin(self.name, "AdaNorm: a factor that adapts to the value", command_line(argc, argv));
    report.paragraph(
        "AdaNorm multiplies normalized values y by C (1 - k y), which gradients do not see. "
        "Everything here is without epsilon.");
    Random random(seed);
    conditions(report, random);
    second_family(report, random);
    negative_factors(report);
    gradients(report, random);
    return report.finish();
  });
}

const registry::Entry entry({"adanorm", "Measures what AdaNorm's factor does.", run});

}  // namespace
