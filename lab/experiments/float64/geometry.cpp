// The geometry of normalized generalized linear models: section 5.2 of Ba et al. 2016, by automatic
// differentiation. Where the printed equations are exact, the claim is equality; where they are
// not, the gap is measured.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "experiments/float64/subjects.h"
#include "experiments/study.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::lab::glm;

namespace {

constexpr double exact_below = 1e-9;

double distance(const Tensor& a, const Tensor& b) { return norm(a - b).item() / norm(b).item(); }

double quadratic(const Tensor& f, const Tensor& d) {
  return sum(d * reshape(matmul(f, reshape(d, {d.size(), 1})), {d.size()})).item();
}

Tensor block(const Tensor& f, Index row, Index rows, Index column, Index columns) {
  return slice(slice(f, 0, row, row + rows), 1, column, column + columns);
}

/// p with one weight vector (or all of them) times `factor`.
Tensor scaled(const Tensor& p, double factor, bool all) {
  Tensor factors = ones({all_parameters});
  std::fill_n(factors.mutable_data(), all ? weights : inputs, static_cast<real>(factor));
  return p * factors;
}

/// The Fisher information by eq. 9: the expectation over labels of the scores' outer products,
/// where the scores are derivatives of log P. In the order of `kronecker_fisher`.
Tensor expected_fisher(const LinearModels& subject, const Outputs& of, const Tensor& p,
                       const Tensor& x) {
  const auto log_probability = [&](const Tensor& at) {
    const Tensor theta = subject.natural(Kind::standard, at, x);
    return (every_label(theta, of.labels) - of.eta(theta)) / of.phi;
  };
  const Tensor scores = jacobian(log_probability, p);
  const Index labels = of.labels.shape()[1];
  const Tensor of_w = reshape(slice(scores, 2, 0, weights), {cases, labels, outputs, inputs});
  const Tensor of_b =
      reshape(slice(scores, 2, weights, weights + outputs), {cases, labels, outputs, 1});
  return fisher(reshape(concat({of_w, of_b}, 3), {cases, labels, weights + outputs}),
                of.probability);
}

void information_of_plain_models(Report& report, const LinearModels& subject, const Tensor& p,
                                 const Tensor& x) {
  Table table{"Eq. 12: relative distance of the Kronecker product from the Fisher information",
              {"outputs", "distance"},
              {}};
  double worst = 0;
  for (const Outputs& of : kinds_of_outputs(glm::natural(Kind::standard, p, x))) {
    const double found = distance(kronecker_fisher(of, x), expected_fisher(subject, of, p, x));
    worst = std::max(worst, found);
    table.rows.push_back({of.name, fmt::format("{:.1e}", found)});
  }
  report.table(table);
  report.claim(
      "Eq. 12: the Fisher information of a generalized linear model is "
      "E[Cov[y|x] / phi^2 kron [[x x^T, x], [x^T, 1]]].",
      fmt::format("the Kronecker product, from expectations of the scores by automatic "
                  "differentiation: relative distance {:.1e} or less",
                  worst),
      worst < exact_below, "below 1e-9");
}

void divergence_of_steps(Report& report, const LinearModels& subject, const Tensor& p,
                         const Tensor& x, const Tensor& direction) {
  const auto log_p = [&](const Tensor& at) {
    return log_softmax(glm::natural(Kind::standard, at, x));
  };
  const Outputs of = kinds_of_outputs(glm::natural(Kind::standard, p, x)).front();
  const Tensor metric = expected_fisher(subject, of, p, x), before = log_p(p);
  const Tensor w = reshape(slice(direction, 0, 0, weights), {outputs, inputs});
  const Tensor b = reshape(slice(direction, 0, weights, weights + outputs), {outputs, 1});
  const Tensor in_order = reshape(concat({w, b}, 1), {weights + outputs});
  Series series{"KL / quadratic form", {}};
  for (int i = 0; i <= 8; ++i) {
    const double size = std::pow(10, -i / 2.0);
    const double divergence =
        mean(sum(of.probability * (before - log_p(p + direction * size)), -1)).item();
    series.points.emplace_back(i / 2.0, divergence / (0.5 * quadratic(metric, in_order * size)));
  }
  report.figure("kl", {"KL divergence over half the quadratic form",
                       "-log10 of the step's size",
                       "ratio",
                       {series},
                       false,
                       "The smaller the step, the nearer the divergence is to the metric."});
  const double first = std::abs(series.points.front().second - 1);
  const double last = std::abs(series.points.back().second - 1);
  report.claim("Eq. 8-9: the KL divergence of a small step is half the quadratic form of F.",
               fmt::format("ratio - 1 falls from {:.2f} to {:.1e}", first, last),
               last < 1e-3 && first > 10 * last, "below 1e-3, and a tenth of the first");
}

void plain_models(Report& report, const LinearModels& subject, Random& random) {
  // The gains are 1 and do not move.
  const Tensor p = concat({random.normal({weights + outputs}), ones({outputs})});
  const Tensor x = random.normal({cases, inputs});
  information_of_plain_models(report, subject, p, x);
  const Tensor step = concat({random.normal({weights + outputs}), zeros({outputs})});
  divergence_of_steps(report, subject, p, x, step);
}

void printed_equations(Report& report, const LinearModels& subject, Index draws, Random& random) {
  Table table{
      fmt::format("Eq. 13 and 14: relative distance of the printed Fisher information from the "
                  "exact one, over {} draws",
                  draws),
      {"normalization", "outputs", "least", "largest"},
      {}};
  double exact = 0, least_gap = std::numeric_limits<double>::infinity();
  for (const Kind kind : {Kind::batch, Kind::weight, Kind::layer})
    for (const bool bernoulli : {true, false}) {
      double least = std::numeric_limits<double>::infinity(), largest = 0;
      Random same = random.stream(1);
      for (Index i = 0; i < draws; ++i) {
        const Tensor p = same.normal({all_parameters}), x = same.normal({cases, inputs}, 0.3);
        const Tensor covariance = variances(glm::natural(kind, p, x), bernoulli);
        const double gap = distance(fisher(printed_jacobian(kind, p, x), covariance),
                                    subject.information(kind, p, x, bernoulli));
        least = std::min(least, gap), largest = std::max(largest, gap);
      }
      if (kind == Kind::layer)
        least_gap = std::min(least_gap, least);
      else
        exact = std::max(exact, largest);
      table.rows.push_back({names[static_cast<int>(kind)], bernoulli ? "Bernoulli" : "Gaussian",
                            fmt::format("{:.1e}", least), fmt::format("{:.1e}", largest)});
    }
  report.table(table);
  report.claim(
      "Eq. 13-14 are exact for batch and weight normalization. For layer normalization they "
      "are not: its statistics are shared, so that output j depends on w_i, too.",
      fmt::format("largest distance {:.1e} for the two; at least {:.2f} for layer", exact,
                  least_gap),
      exact < exact_below && least_gap > 0.01, "below 1e-9; layer above 0.01");
}

// The gradient of one weight vector, under layer normalization of the whole matrix.
Tensor gradient_of_w(const LinearModels& subject, Kind kind, const Tensor& p, const Tensor& x,
                     const Tensor& target) {
  const Function loss = [&](const auto& in) {
    return binary_cross_entropy_with_logits(subject.natural(kind, in[0], x), target);
  };
  return slice(vjp(loss, {p}, Tensor(1.0))[0], 0, 0, kind == Kind::layer ? weights : inputs);
}

// How the blocks of F and the gradient change when |w| doubles: (w, w), (w, b), (w, g), (b, b),
// (g, g), gradient.
std::array<double, 6> after_doubling(const LinearModels& subject, Kind kind, const Tensor& p,
                                     const Tensor& x, const Tensor& target) {
  const bool all = kind == Kind::layer;
  const Index rows = all ? weights : inputs;
  const Tensor before = subject.information(kind, p, x, true);
  const Tensor after = subject.information(kind, scaled(p, 2, all), x, true);
  const auto ratio = [&](Index row, Index height, Index column, Index width) {
    return norm(block(after, row, height, column, width)).item() /
           norm(block(before, row, height, column, width)).item();
  };
  return {ratio(0, rows, 0, rows),
          ratio(0, rows, weights, outputs),
          ratio(0, rows, weights + outputs, outputs),
          ratio(weights, outputs, weights, outputs),
          ratio(weights + outputs, outputs, weights + outputs, outputs),
          norm(gradient_of_w(subject, kind, scaled(p, 2, all), x, target)).item() /
              norm(gradient_of_w(subject, kind, p, x, target)).item()};
}

void null_directions(Report& report, const LinearModels& subject, const Tensor& p,
                     const Tensor& x) {
  double null = 0;
  for (const Kind kind : {Kind::batch, Kind::weight, Kind::layer}) {
    Tensor d = zeros({all_parameters});
    std::copy_n(p.data(), kind == Kind::layer ? weights : inputs, d.mutable_data());
    null = std::max(null, std::abs(quadratic(subject.information(kind, p, x, true), d)));
  }
  report.claim(
      "Moving along w itself changes nothing: d^T F d = 0 for one weight vector under batch and "
      "weight normalization, for the whole matrix under layer normalization.",
      fmt::format("largest {:.1e}", null), null < exact_below, "below 1e-9");
}

void implicit_rate(Report& report, const LinearModels& subject, Random& random) {
  Table table{
      "Doubling |w|: how the blocks of F and the gradient change (one vector; for layer the "
      "matrix)",
      {"normalization", "(w, w)", "(w, b)", "(w, g)", "(b, b)", "(g, g)", "gradient"},
      {}};
  const Tensor p = random.normal({all_parameters}), x = random.normal({cases, inputs}, 0.3);
  const Tensor target = random.uniform({cases, outputs});
  double worst = 0;
  for (const Kind kind : {Kind::batch, Kind::weight, Kind::layer}) {
    const std::array<double, 6> found = after_doubling(subject, kind, p, x, target);
    const double expected[] = {0.25, 0.5, 0.5, 1, 1, 0.5};
    table.rows.push_back({names[static_cast<int>(kind)]});
    for (int i = 0; i < 6; ++i) {
      worst = std::max(worst, std::abs(found[i] - expected[i]));
      table.rows.back().push_back(fmt::format("{:.6f}", found[i]));
    }
  }
  report.table(table);
  report.claim(
      "The implicit reduction of the learning rate: when |w| doubles, the curvature along w "
      "falls to 1/4. (The paper prints 1/2, which fits the mixed blocks and the gradient.)",
      fmt::format("largest distance from 1/4, 1/2 and 1: {:.1e}", worst), worst < exact_below,
      "below 1e-9");
  null_directions(report, subject, p, x);
}

// The metric of the gains.
Tensor gain_block(const LinearModels& subject, Kind kind, const Tensor& p, const Tensor& x,
                  bool bernoulli) {
  const Tensor f = subject.information(kind, p, x, bernoulli);
  return block(f, weights + outputs, outputs, weights + outputs, outputs);
}

void larger_inputs(Report& report, const LinearModels& subject, const Tensor& p, const Tensor& x) {
  const auto growth = [&](Kind kind) {
    return distance(gain_block(subject, kind, p, x * 3.0, false),
                    gain_block(subject, kind, p, x, false));
  };
  const double normalized = std::max(growth(Kind::batch), growth(Kind::layer));
  const Tensor unit = reshape(select(weights_of(p), 0), {inputs}) / norm(select(weights_of(p), 0));
  Tensor along = zeros({all_parameters});
  std::copy_n(unit.data(), inputs, along.mutable_data());
  const auto metric = [&](const Tensor& data) {
    return quadratic(subject.information(Kind::standard, p, data, false), along);
  };
  const double standard = metric(x * 3.0) / metric(x);
  report.claim(
      "Eq. 35: the standard model's metric along w grows with the square of the inputs' size; the "
      "gains' metric under batch and layer normalization does not change.",
      fmt::format("inputs three times as large: factor {:.12g}, change {:.1e}", standard,
                  normalized),
      std::abs(standard - 9) < exact_below && normalized < exact_below, "9 and 0 within 1e-9");
}

void gains(Report& report, const LinearModels& subject, Random& random) {
  const Tensor p = random.normal({all_parameters}), x = random.normal({cases, inputs}, 0.3);
  const auto expected = [&](Kind kind, bool bernoulli, bool with_values) {
    const Tensor a = matmul(x, weights_of(p), {.b = true});
    const auto [mu, sigma] = statistics(kind, weights_of(p), a);
    const Tensor covariance = variances(glm::natural(kind, p, x), bernoulli);
    return eye(outputs) * mean(with_values ? covariance * square((a - mu) / sigma) : covariance, 0);
  };
  const double layer =
      distance(gain_block(subject, Kind::layer, p, x, true), expected(Kind::layer, true, true));
  const double weight =
      distance(gain_block(subject, Kind::weight, p, x, true), expected(Kind::weight, true, true));
  report.claim("Eq. 33 and 34: the metric of the gains under layer and weight normalization.",
               fmt::format("relative distances {:.1e} and {:.1e}", layer, weight),
               std::max(layer, weight) < exact_below, "below 1e-9");
  const double gaussian =
      distance(gain_block(subject, Kind::batch, p, x, false), expected(Kind::batch, false, false));
  const double bernoulli =
      distance(gain_block(subject, Kind::batch, p, x, true), expected(Kind::batch, true, false));
  report.claim(
      "Eq. 32, for batch normalization, leaves out the squared normalized value: exact for "
      "Gaussian outputs, whose variance is constant, not for Bernoulli ones.",
      fmt::format("relative distance {:.1e} Gaussian, {:.2f} Bernoulli", gaussian, bernoulli),
      gaussian < exact_below && bernoulli > 0.01, "Gaussian below 1e-9, Bernoulli above 0.01");
  larger_inputs(report, subject, p, x);
}

void growth(Report& report, const LinearModels& subject, const Tensor& p, const Tensor& x,
            const Tensor& target) {
  constexpr double rate = 10;
  Series measured{"|w|^2", {}}, predicted{"its start plus the steps' squares", {}};
  Tensor at = p;
  double sum_of_squares = square(norm(slice(p, 0, 0, inputs))).item();
  for (int step = 0; step <= 200; ++step) {
    const double size = square(norm(slice(at, 0, 0, inputs))).item();
    measured.points.emplace_back(step, size);
    predicted.points.emplace_back(step, sum_of_squares);
    const Tensor g = gradient_of_w(subject, Kind::weight, at, x, target);
    sum_of_squares += rate * rate * square(norm(g)).item();
    Tensor move = zeros({all_parameters});
    std::copy_n(g.data(), inputs, move.mutable_data());
    at = at - rate * move;
  }
  report.figure("growth",
                {"Growth of a normalized weight under SGD",
                 "step",
                 "|w|^2",
                 {measured, predicted},
                 false,
                 "The weight only grows, by the squares of its steps: both curves coincide."},
                Talk::yes);
  const double start = measured.points.front().second, end = measured.points.back().second;
  report.claim(
      "\"Implicit early stopping\": because the gradient is orthogonal to w, each SGD step adds "
      "its own squared length to |w|^2.",
      fmt::format("from {:.4f} to {:.4f}; predicted {:.4f}", start, end,
                  predicted.points.back().second),
      end > start && std::abs(end - predicted.points.back().second) < exact_below * end,
      "within 1e-9 of the prediction, relative to it");
}

void angles(Report& report, const LinearModels& subject, Random& random) {
  const Tensor p = random.normal({all_parameters}), x = random.normal({cases, inputs}, 0.3);
  const Tensor target = random.uniform({cases, outputs});
  const auto angle = [](const Tensor& a, const Tensor& b) {
    const Tensor unit_a = a / norm(a), unit_b = b / norm(b);
    return 2 * std::asin(norm(unit_a - unit_b).item() / 2);
  };
  Table table{"The angle that one step turns w by, under weight normalization",
              {"|w| times", "SGD", "sign of the gradient (as Adam's first step)"},
              {}};
  std::vector<double> sgd, sign_step;
  for (const double factor : {1.0, 2.0, 4.0}) {
    const Tensor at = scaled(p, factor, false), w = slice(at, 0, 0, inputs),
                 g = gradient_of_w(subject, Kind::weight, at, x, target);
    sgd.push_back(angle(w, w - 1e-3 * g));
    sign_step.push_back(angle(w, w - 1e-3 * sign(g)));
    table.rows.push_back({fmt::format("{}", factor), fmt::format("{:.3e}", sgd.back()),
                          fmt::format("{:.3e}", sign_step.back())});
  }
  report.table(table);
  const double by_sgd = sgd[2] / sgd[1], by_sign = sign_step[2] / sign_step[1];
  report.claim(
      "A larger |w| turns more slowly: each doubling divides SGD's angle by 4 and Adam's, which "
      "does not depend on the gradient's size, by 2.",
      fmt::format("factors {:.4f} and {:.4f}", by_sgd, by_sign),
      std::abs(by_sgd - 0.25) < 1e-3 && std::abs(by_sign - 0.5) < 1e-3, "within 0.001");
  growth(report, subject, p, x, target);
}

}  // namespace

void lab::measure_geometry(Report& report, const LinearModels& subject, Index draws,
                           Random random) {
  plain_models(report, subject, random);
  printed_equations(report, subject, draws, random);
  implicit_rate(report, subject, random);
  gains(report, subject, random);
  angles(report, subject, random);
}

namespace {

struct GeometryFlags {
  Index draws = 10;

  void add_to(Flags& flags, StudyRun&) {
    flags.setting("--draws", draws, "Models for the table of eq. 13-14").check(between(1, 10000));
  }
};

const registry::Entry entry([] {
  return with_flags<GeometryFlags>(
      {.name = "geometry",
       .summary = "Measures the Fisher information of normalized linear models.",
       .title = "The geometry of normalized linear models",
       .introduction =
           "Fisher information by automatic differentiation, next to the equations of Ba et al. "
           "2016, section 5.2: 12 cases, 4 inputs, 3 outputs; batch statistics are over all cases.",
       .seed = "Seed of weights and inputs"},
      [](StudyRun& run, const GeometryFlags& flags) {
        measure_geometry(run.report, {}, flags.draws, run.random());
      });
});

}  // namespace
