// Plain and layer-normalized recurrent nets over many steps: how states and gradients grow or
// vanish with the scale of the recurrent weights (Ba et al. 2016, section 3.1), and what happens to
// per-step statistics when sequences are longer than any in training.

#include <algorithm>
#include <cmath>

#include "lab/registry.h"
#include "lab/report.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;

namespace {

/// log10 of the norm of the state after each step, and of the gradient of the last state's sum with
/// respect to the state before each step.
struct Course {
  Series states, gradients;
};

Course run_rnn(const char* norm, double scale, Index steps, Random random) {
  constexpr Index hidden = 64;
  RecurrentLayer layer(Cell::rnn_relu, 1, hidden, random, {.norm = norm});
  // A random matrix whose ReLU net keeps the size of its state on average at scale 1.
  layer.weight.set(random.normal({hidden, hidden}, 0, scale * std::sqrt(2.0 / hidden)));
  const Tensor silence = zeros({1, 1});
  const std::string name =
      fmt::format("{} {}", norm == std::string("layer") ? "LN" : "plain", scale);
  Course course{{name, {}}, {name, {}}};

  const Tape tape;
  std::vector<Tensor> states{watch(random.normal({1, hidden}))};
  for (Index t = 0; t < steps; ++t) {
    states.push_back(layer.step(silence, {states.back(), {}}).h);
    course.states.points.emplace_back(static_cast<double>(t + 1),
                                      std::log10(tapegrad::norm(states.back()).item()));
  }
  const std::vector<Tensor> found = grad(sum(states.back()), states);
  for (Index t = 0; t < steps; ++t)
    course.gradients.points.emplace_back(
        static_cast<double>(steps - t),
        std::log10(tapegrad::norm(found[static_cast<std::size_t>(t)]).item()));
  std::reverse(course.gradients.points.begin(), course.gradients.points.end());
  return course;
}

double last(const Series& series) { return series.points.back().second; }

// plain, normalized: from recurrent scales of 0.5, 1 and 2
void growth_claims(Report& report, Index steps, const std::vector<Course>& plain,
                   const std::vector<Course>& normalized) {
  const double expected = 2 * static_cast<double>(steps) * std::log10(2.0);
  const double plain_spread = last(plain[2].states) - last(plain[0].states);
  const double spread = std::abs(last(normalized[2].states) - last(normalized[0].states));
  report.claim(
      "Without normalization the state grows or vanishes as the scale to the power of the "
      "steps; with it, the scale does not matter.",
      fmt::format("from scale 0.5 to 2 the plain state grows by 10^{:.1f} (4^steps is "
                  "10^{:.1f}), the normalized one by 10^{:.1e}",
                  plain_spread, expected, spread),
      std::abs(plain_spread - expected) < 1e-6 * expected && spread < 1e-3);
  const double gradient_spread = last(plain[2].gradients) - last(plain[0].gradients);
  const double normalized_spread =
      std::abs(last(normalized[2].gradients) - last(normalized[0].gradients));
  report.claim("So do the gradients.",
               fmt::format("by 10^{:.1f} plain, by 10^{:.1e} normalized", gradient_spread,
                           normalized_spread),
               gradient_spread > 0.9 * expected && normalized_spread < 0.1);
}

void growth(Report& report, Index steps, const Random& random) {
  Diagram states{"Size of the state", "step", "log10 |h|", {}};
  Diagram gradients{"Size of the gradient, back in time", "steps back", "log10 |dl/dh|", {}};
  Table table{fmt::format("ReLU nets after {} steps without input", steps),
              {"net", "recurrent scale", "log10 |h|", "log10 |gradient| at the first step"},
              {}};
  std::vector<Course> plain, normalized;
  for (const char* norm : {"none", "layer"})
    for (const double scale : {0.5, 1.0, 2.0}) {
      const Course course = run_rnn(norm, scale, steps, random);
      (norm == std::string("layer") ? normalized : plain).push_back(course);
      states.series.push_back(course.states);
      gradients.series.push_back(course.gradients);
      table.rows.push_back({norm, fmt::format("{}", scale),
                            fmt::format("{:.2f}", last(course.states)),
                            fmt::format("{:.2f}", last(course.gradients))});
    }
  report.table(table);
  const auto split = [&](const Diagram& all, const char* part, const std::string& file) {
    Diagram diagram = all;
    diagram.title += part[0] == 'p' ? ", plain" : ", layer-normalized";
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

// x: (T, 1, in), cut after `part` steps
void parts_of_a_sequence(Report& report, const Tensor& x, Index hidden, Index part,
                         Random& random) {
  const RecurrentLayer layer(Cell::lstm, x.shape()[2], hidden, random, {.norm = "layer"});
  const Tensor whole = layer(x).outputs;
  const RecurrentState half = layer(slice(x, 0, 0, part)).last;
  const Tensor rest = layer(slice(x, 0, part, x.shape()[0]), half).outputs;
  const double difference = max(abs(rest - slice(whole, 0, part, x.shape()[0]))).item();
  report.claim(
      "A layer-normalized LSTM has nothing that belongs to a step: any part of a sequence can "
      "follow any other.",
      fmt::format("largest difference {:.1e}", difference), difference < 1e-12);
}

void lengths(Report& report, Random random) {
  constexpr Index hidden = 32, in = 4, trained = 20, longer = 100;
  const Tensor x = random.normal({longer, 1, in});
  Table table{
      fmt::format("LSTMs: statistics from batches of 8 with {} steps, then one sequence of {}",
                  trained, longer),
      {"norm", "scale of the running averages, step 1", "the last with averages of its own",
       "training with batch 1"},
      {}};
  double batch_one = -1, layer_one = 0;
  for (const char* norm : {"batch:steps=20", "layer"}) {
    const RecurrentLayer layer(Cell::lstm, in, hidden, random, {.norm = norm});
    for (int i = 0; i < 100; ++i) layer(random.normal({trained, 8, in}), {}, {}, training(random));
    const Tensor single = layer(slice(x, 0, 0, trained), {}, {}, training(random)).outputs;
    const double deviation = stddev(select(select(single, trained - 1), 0)).item();
    const bool is_batch = norm[0] == 'b';
    (is_batch ? batch_one : layer_one) = deviation;
    const auto scale_at = [&](Index step) {
      return is_batch ? fmt::format(
                            "{:.4f}",
                            mean(sqrt(select(layer.product_norm.parts[0].running_variance, step)))
                                .item())
                      : std::string("none needed");
    };
    table.rows.push_back({norm, scale_at(0), scale_at(trained - 1),
                          fmt::format("outputs spread by {:.4f}", deviation)});
  }
  report.table(table);
  report.claim(
      "With one sequence in a batch, statistics over the batch leave nothing of the inputs: "
      "every channel is its own mean. Layer normalization does not see the batch.",
      fmt::format("outputs spread over channels by {:.1e} and {:.2f}", batch_one, layer_one),
      batch_one < 1e-6 && layer_one > 1e-3);
  parts_of_a_sequence(report, x, hidden, trained, random);
}

int run(const registry::Experiment& self, int argc, char** argv) {
  Flags flags(argv[0], self.summary);
  Report report;
  Index steps = 100;
  std::uint64_t seed = 1;
  flags.setting("--steps", steps, "Steps of the nets")->check(between(2, 500));
  flags.setting("--seed", seed, "Seed of weights and inputs");
  report.add_to(flags);
  return flags.run(argc, argv, [&] {
    report.begin(self.name, "Recurrent nets through time, plain and normalized",
                 command_line(argc, argv));
    report.paragraph(
        "A ReLU net that gets no input repeats one matrix. Its state and its gradient are shown "
        "for "
        "three sizes of that matrix, with and without layer normalization of its sums.");
    growth(report, steps, Random(seed).stream(1));
    lengths(report, Random(seed).stream(2));
    return report.finish();
  });
}

const registry::Entry entry({"dynamics",
                             "Follows states and gradients of recurrent nets through time.", run});

}  // namespace
