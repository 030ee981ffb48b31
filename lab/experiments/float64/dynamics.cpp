// Plain and layer-normalized recurrent nets over many steps: how states and gradients grow or
// vanish with the scale of the recurrent weights (Ba et al. 2016, section 3.1), and what happens to
// per-step statistics when sequences are longer than any in training.

#include <algorithm>
#include <cmath>

#include "experiments/float64/subjects.h"
#include "experiments/study.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;

namespace {

/// log10 of the norm of the state after each step, and of the gradient of the last state's sum with
/// respect to the state before each step.
struct Growth {
  Series states, gradients;
};

Growth run_rnn(const std::string& norm, const std::string& label, double scale, Index steps,
               Random random) {
  constexpr Index hidden = 64;
  RecurrentLayer layer(Cell::rnn_relu, 1, hidden, random, {.norm = norm});
  // A random matrix whose ReLU net keeps the size of its state on average at scale 1.
  layer.weight.set(random.normal({hidden, hidden}, 0, scale * std::sqrt(2.0 / hidden)));
  const Tensor silence = zeros({1, 1});
  const std::string name = fmt::format("{} {}", label, scale);
  Growth growth{{name, {}}, {name, {}}};

  const Tape tape;
  std::vector<Tensor> states{watch(random.normal({1, hidden}))};
  for (Index t = 0; t < steps; ++t) {
    states.push_back(layer.step(silence, {states.back(), {}}).h);
    growth.states.points.emplace_back(t + 1, std::log10(tapegrad::norm(states.back()).item()));
  }
  const std::vector<Tensor> found = grad(sum(states.back()), states);
  for (Index t = 0; t < steps; ++t)
    growth.gradients.points.emplace_back(steps - t, std::log10(tapegrad::norm(found[t]).item()));
  std::reverse(growth.gradients.points.begin(), growth.gradients.points.end());
  return growth;
}

double last(const Series& series) { return series.points.back().second; }

// plain, normalized: from recurrent scales of 0.5, 1 and 2
void growth_claims(Report& report, Index steps, const std::vector<Growth>& plain,
                   const std::vector<Growth>& normalized) {
  const double expected = 2.0 * steps * std::log10(2.0);
  const double plain_spread = last(plain[2].states) - last(plain[0].states);
  const double spread = std::abs(last(normalized[2].states) - last(normalized[0].states));
  report.claim(
      "Without normalization the state grows or vanishes as the scale to the power of the "
      "steps; with it, the scale does not matter.",
      fmt::format("from scale 0.5 to 2 the plain state grows by 10^{:.1f} (4^steps is "
                  "10^{:.1f}), the normalized one by 10^{:.1e}",
                  plain_spread, expected, spread),
      std::abs(plain_spread - expected) < 1e-6 * expected && spread < 1e-3,
      "plain within 1e-6 of the power, normalized below 1e-3");
  const double gradient_spread = last(plain[2].gradients) - last(plain[0].gradients);
  const double normalized_spread =
      std::abs(last(normalized[2].gradients) - last(normalized[0].gradients));
  report.claim("So do the gradients.",
               fmt::format("by 10^{:.1f} plain, by 10^{:.1e} normalized", gradient_spread,
                           normalized_spread),
               gradient_spread > 0.9 * expected && normalized_spread < 0.1,
               "plain above 0.9 of the power, normalized below 0.1");
}

void growth(Report& report, const RecurrentSystems& subject, Index steps, const Random& random) {
  Diagram states{"Size of the state", "step", "log10 |h|", {}};
  Diagram gradients{"Size of the gradient, back in time", "steps back", "log10 |dl/dh|", {}};
  Table table{fmt::format("ReLU nets after {} steps without input", steps),
              {"net", "recurrent scale", "log10 |h|", "log10 |gradient| at the first step"},
              {}};
  std::vector<Growth> plain, normalized;
  for (const std::string label : {"plain", "LN"})
    for (const double scale : {0.5, 1.0, 2.0}) {
      const bool is_plain = label == "plain";
      const Growth growth =
          run_rnn(is_plain ? subject.none : subject.layer, label, scale, steps, random);
      (is_plain ? plain : normalized).push_back(growth);
      states.series.push_back(growth.states);
      gradients.series.push_back(growth.gradients);
      table.rows.push_back({label, fmt::format("{}", scale),
                            fmt::format("{:.2f}", last(growth.states)),
                            fmt::format("{:.2f}", last(growth.gradients))});
    }
  report.table(table);
  const auto split = [&](const Diagram& all, const char* part, const std::string& file) {
    Diagram diagram = all;
    const bool is_plain = part[0] == 'p';
    diagram.title += is_plain ? ", plain" : ", layer-normalized";
    diagram.caption = is_plain ? "Each step multiplies by the scale of the recurrent weights."
                               : "The three curves coincide: the scale does not matter.";
    std::erase_if(diagram.series,
                  [&](const Series& series) { return !series.name.starts_with(part); });
    report.figure(file, diagram);
  };
  split(states, "plain", "states_plain");
  split(states, "LN", "states_normalized");
  split(gradients, "plain", "gradients_plain");
  split(gradients, "LN", "gradients_normalized");
  growth_claims(report, steps, plain, normalized);
}

constexpr Index hidden = 32, in = 4;
constexpr Index trained = 20, longer = 100;  // steps

/// An LSTM with initial weights whose forget gates are nearly open, so that its cell adds up what
/// it sees, after batches of sequences of `trained` steps for the running averages.
RecurrentLayer adding_lstm(const std::string& norm, Random random) {
  RecurrentLayer layer(Cell::lstm, in, hidden, random, {.norm = norm});
  const Tensor none = zeros({hidden});
  layer.input.bias.set(concat({none, none + 5.0, none, none}));  // i, f, g, o
  for (int i = 0; i < 100; ++i) layer(random.normal({trained, 8, in}), {}, {}, training(random));
  return layer;
}

/// Measurements of such an LSTM.
struct Lengths {
  Series size;    ///< root mean square of what the output gate sees of the cell, by the step
  double growth;  ///< the size at the last step over the size at step `trained`
  double part;    ///< how far outputs change when a sequence begins in its middle
  double alone;   ///< how far outputs spread over channels where a batch repeats one sequence
};

Lengths measure(const std::string& label, const RecurrentLayer& layer, const Tensor& x,
                Random random) {
  Lengths found{{label, {}}, 0, 0, 0};
  for (const Index step :
       {Index{1}, Index{5}, Index{10}, trained, Index{40}, Index{60}, Index{80}, longer}) {
    Tensor cell = layer(slice(x, 0, 0, step)).last.c;
    if (layer.cell_norm) cell = layer.cell_norm->at_step(cell, step - 1);
    found.size.points.emplace_back(step, std::sqrt(mean(square(cell)).item()));
  }
  found.growth = last(found.size) / found.size.points[3].second;
  const Tensor whole = layer(x).outputs;
  const RecurrentState half = layer(slice(x, 0, 0, trained)).last;
  const Tensor rest = layer(slice(x, 0, trained, longer), half).outputs;
  found.part = max(abs(rest - slice(whole, 0, trained, longer))).item();
  const Tensor one = slice(slice(x, 0, 0, trained), 1, 0, 1);
  const Tensor repeated = layer(concat({one, one}, 1), {}, {}, training(random)).outputs;
  found.alone = stddev(select(select(repeated, trained - 1), 0)).item();
  return found;
}

void length_claims(Report& report, const Lengths& plain, const Lengths& batch,
                   const Lengths& layer) {
  const auto keeps_its_size = [](const Lengths& net) { return std::abs(net.growth - 1) < 1e-3; };
  report.claim(
      "Beyond the steps that batch normalization has averages for, it lets the cell grow, as a "
      "plain LSTM does. Layer normalization keeps its size at every step.",
      fmt::format("from step {} to {} the cell grows by the factor {:.2f} with batch, {:.2f} "
                  "without (the control), {:.6f} with layer normalization",
                  trained, longer, batch.growth, plain.growth, layer.growth),
      keeps_its_size(layer) && batch.growth > 1.1 && plain.growth > 1.1,
      "layer within 0.001 of 1, the others above 1.1");
  report.claim(
      "Batch normalization depends on the step: the second part of a sequence cannot be run on its "
      "own, from the state that the first part left. With layer normalization it can, as without "
      "normalization.",
      fmt::format("outputs change by {:.2f} with batch, {:.1e} with layer, {:.1e} without",
                  batch.part, layer.part, plain.part),
      batch.part > 0.01 && std::max(layer.part, plain.part) < 1e-12,
      "batch above 0.01, the others below 1e-12");
  report.claim(
      "Where a batch repeats one sequence, statistics over the batch leave nothing of the inputs: "
      "every channel is its own mean. Layer normalization does not depend on the batch.",
      fmt::format("outputs spread over channels by {:.1e} and {:.2f}", batch.alone, layer.alone),
      batch.alone < 1e-6 && layer.alone > 1e-3, "batch below 1e-6, layer above 0.001");
}

void lengths(Report& report, const RecurrentSystems& subject, Random random) {
  const Tensor x = random.normal({longer, 32, in});
  Table table{fmt::format("LSTMs with averages from sequences of {} steps, on 32 sequences of {}",
                          trained, longer),
              {"norm", fmt::format("size of the cell, step {}", trained),
               fmt::format("step {}", longer), "change, in two parts", "spread, equal sequences"},
              {}};
  Diagram diagram{"Size of the cell where it enters the output", "step", "root mean square", {}};
  diagram.caption = fmt::format(
      "The averages of batch normalization end at step {}. From there on its cell grows as in the "
      "plain LSTM; layer normalization keeps it at 1.",
      trained);
  std::vector<Lengths> found;
  for (const std::string& norm : {subject.none, subject.batch, subject.layer}) {
    const Lengths& net =
        found.emplace_back(measure(norm, adding_lstm(norm, random.stream(0)), x, random.stream(1)));
    diagram.series.push_back(net.size);
    table.rows.push_back({norm, fmt::format("{:.4f}", net.size.points[3].second),
                          fmt::format("{:.4f}", last(net.size)), fmt::format("{:.1e}", net.part),
                          fmt::format("{:.4f}", net.alone)});
  }
  report.table(table);
  report.figure("cells", diagram, Talk::yes);
  length_claims(report, found[0], found[1], found[2]);
}

}  // namespace

void lab::measure_dynamics(Report& report, const RecurrentSystems& subject, Index steps,
                           Random random) {
  growth(report, subject, steps, random.stream(1));
  lengths(report, subject, random.stream(2));
}

namespace {

struct DynamicsFlags {
  Index steps = 100;

  void add_to(Flags& flags, StudyRun&) {
    flags.setting("--steps", steps, "Steps of the nets").check(between(2, 500));
  }
};

const registry::Entry entry([] {
  return with_flags<DynamicsFlags>(
      {.name = "dynamics",
       .summary = "Follows states and gradients of recurrent nets through time.",
       .title = "Recurrent nets through time, plain and normalized",
       .introduction =
           "A ReLU net that gets no input repeats one matrix. Its state and its gradient are shown "
           "for three sizes of that matrix, with and without layer normalization of its sums. Then "
           "LSTMs, with initial weights and open forget gates, run five times as long as the "
           "sequences that their averages are from.",
       .seed = "Seed of weights and inputs"},
      [](StudyRun& run, const DynamicsFlags& flags) {
        measure_dynamics(run.report, {}, flags.steps, run.random());
      });
});

}  // namespace
