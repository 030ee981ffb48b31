// Compares toys on the processes it is started with. Each run adds a line to the file of its
// process, LOG/RANK.

#include <cmath>
#include <csignal>
#include <fstream>

#include "experiments/comparison.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;

namespace {

struct ToyFlags {
  ComparisonFlags comparison{.seeds = 3};
  std::string log, fails, killed, other;

  void add_to(Flags& flags) {
    comparison.add_to(flags, 1);
    flags.setting("--log", log, "Directory for the names of runs");
    flags.setting("--fails", fails, "Training that throws");
    flags.setting("--killed", killed, "Training whose process is killed");
    flags.setting("--other", other, "What differs on the first process: data or systems");
  }
};

Outcome train(const ToyFlags& flags, const std::string& system, const Trial& trial) {
  const std::string name = fmt::format("{} {}", system, trial.seed);
  std::ofstream(flags.log, std::ios::app) << name + "\n";
  expect<Error>(name != flags.fails, "{} fails", name);
  if (name == flags.killed) std::raise(SIGKILL);
  Random random = trial.weights();
  return {.curve = {{1, random.uniform()}, {2, random.uniform(), INFINITY}},
          .values = {{"loss", system == "c" ? -INFINITY : random.uniform()}},
          .items = {random.uniform(), NAN}};
}

void show(const Results& results) {
  for (const Outcome& outcome : results.runs) {
    write_result(fmt::format("{}: {:a}", results.system, outcome.values.at("loss")));
    for (const CurvePoint& point : outcome.curve)
      write_result(
          fmt::format(" {} {:a} {:a}", point.step, point.training, point.validation.value_or(0)));
    for (const double item : outcome.items) write_result(fmt::format(" {:a}", item));
    write_result("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags("comparison_program", "Compares toys.");
  ToyFlags toys;
  Ledger ledger;
  toys.add_to(flags);
  ledger.add_to(flags);
  return flags.run(argc, argv, [&] {
    Cluster cluster;
    toys.log += fmt::format("/{}", cluster.rank());
    if (!cluster.is_first()) silence_results();
    const std::string other = cluster.is_first() ? toys.other : "";
    ledger.begin("toys", other == "data" ? "other" : "same");
    std::vector<System> systems;
    for (const std::string name : {"a", "b", "c"})
      systems.push_back({name,
                         {{"toy", other == "systems" ? "other" : name}},
                         [&toys, name](const Trial& trial) { return train(toys, name, trial); }});
    Comparison(cluster, ledger, toys.comparison).train(systems, show);
    return 0;
  });
}
