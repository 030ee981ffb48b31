// The eigenvalues of the Fisher information of normalized linear models (Ba et al. 2016, section
// 5.2): how many directions change nothing, and what the size of the weights does to the others.

#include <algorithm>
#include <cmath>

#include "experiments/float64/subjects.h"
#include "experiments/study.h"
#include "tapegrad/linalg.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::lab::glm;

namespace {

constexpr double zero_below = 1e-10;  // relative to the largest

// Directions in which the natural parameters do not change: w_i against g_i, the length of each
// w_i, or, for layer normalization, the size of W and any vector added to all w_i.
Index symmetries(Kind kind) { return kind == Kind::layer ? 1 + inputs : outputs; }

void zeros_of(Report& report, const LinearModels& subject, const Tensor& p, const Tensor& x) {
  Table table{"Eigenvalues of the Fisher information of 18 parameters, Bernoulli outputs",
              {"normalization", "zero", "symmetries", "least other", "largest"},
              {}};
  Diagram diagram{
      "Eigenvalues that are not zero", "number, descending", "log10 of the eigenvalue", {}};
  bool all = true;
  for (const Kind kind : {Kind::standard, Kind::batch, Kind::weight, Kind::layer}) {
    const Tensor values = flip(eigh(subject.information(kind, p, x, true)).values);
    const double largest = values.data()[0];
    Index others = 0;
    Series series{names[static_cast<int>(kind)], {}};
    for (; others < values.size() && values.data()[others] > zero_below * largest; ++others)
      series.points.emplace_back(others + 1, std::log10(values.data()[others]));
    const Index zero = values.size() - others;
    all = all && zero == symmetries(kind);
    table.rows.push_back({series.name, fmt::format("{}", zero), fmt::format("{}", symmetries(kind)),
                          fmt::format("{:.2e}", values.data()[others - 1]),
                          fmt::format("{:.2e}", largest)});
    diagram.series.push_back(series);
  }
  diagram.caption =
      "A curve ends where the eigenvalues are zero: each of its model's symmetries takes one away.";
  report.table(table);
  report.figure("spectra", diagram, Talk::yes);
  report.claim(
      "The Fisher information has an eigenvalue 0 for each symmetry of the model, and no other.",
      "as many as the table lists", all, "zero: below 1e-10 of the largest");
}

void larger_weights(Report& report, const LinearModels& subject, const Tensor& p, const Tensor& x) {
  Tensor factors = ones({all_parameters});
  std::fill_n(factors.mutable_data(), weights, real{2});
  double worst = 0;
  for (const Kind kind : {Kind::batch, Kind::weight, Kind::layer}) {
    const auto values = [&](const Tensor& at) {
      const Tensor all = subject.information(kind, at, x, true);
      return eigh(slice(slice(all, 0, 0, weights), 1, 0, weights)).values;
    };
    const Tensor before = values(p), change = values(p * factors) - before / 4.0;
    worst = std::max(worst, max(abs(change)).item() / max(before).item());
  }
  report.claim(
      "When all weight vectors become twice as long, every eigenvalue of the metric of the weights "
      "falls to 1/4: the implicit reduction of the learning rate is the same in all directions.",
      fmt::format("largest distance from 1/4 of the eigenvalue, relative to the largest: {:.1e}",
                  worst),
      worst < zero_below, "below 1e-10");
}

}  // namespace

void lab::measure_spectra(Report& report, const LinearModels& subject, Random random) {
  const Tensor p =
      concat({random.normal({weights + outputs}), random.uniform({outputs}, 0.5, 1.5)});
  const Tensor x = random.normal({cases, inputs}, 0.3);
  zeros_of(report, subject, p, x);
  larger_weights(report, subject, p, x);
}

namespace {

const registry::Entry entry([] {
  return Study{
      .name = "spectra",
      .summary = "Measures the eigenvalues of the Fisher information of normalized models.",
      .title = "The spectra of normalized linear models",
      .introduction = "The models of the experiment geometry: 12 cases, 4 inputs, 3 outputs.",
      .seed = "Seed of weights and inputs",
      .run = [](StudyRun& run) { measure_spectra(run.report, {}, run.random()); }};
});

}  // namespace
