#include "experiments/study.h"

#include <catch2/catch.hpp>

#include "support/scratch.h"
#include "tapegrad/train/output.h"

using namespace tapegrad;
using namespace tapegrad::lab;

namespace {

/// A study of two systems, whose runs come to their seeds.
class Toys {
 public:
  Toys() { silence_results(); }

  struct Own {
    Index rows = 1;

    void add_to(Flags& flags, StudyRun&) { flags.setting("--rows", rows, "Rows"); }
  };

  /// The exit code.
  int run(std::vector<std::string> words) {
    Study study = with_flags<Own>({.name = "toys",
                                   .summary = "Toys.",
                                   .title = "Toys",
                                   .sizes = "smoke: small; report: large",
                                   .seeds = 2,
                                   .chooses = true,
                                   .data = {"A folder"}},
                                  [](StudyRun&, const Own&) {});
    study.run = [this](StudyRun& run) { train(run); };
    const registry::Experiment experiment = study;
    words.insert(words.begin(), "lab toys");
    words.emplace_back("--quiet");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    return experiment.run(static_cast<int>(argv.size()), argv.data());
  }

  int trained = 0;
  std::vector<Results> found = {};
  std::string size = {}, data = {};

 private:
  void train(StudyRun& run) {
    size = run.size;
    data = run.data;
    run.ledger.begin(run.name, run.from_ledger ? "" : "the data");
    std::vector<System> systems;
    for (const char* name : {"a", "b"})
      systems.push_back({name, {{"size", run.size}}, [this](const Trial& trial) {
                           ++trained;
                           return Outcome{.values = {{"seed", static_cast<double>(trial.seed)}}};
                         }});
    found = run.train(systems);
    run.report.claim("Nothing has failed", "", !fails);
  }

 public:
  bool fails = false;
};

}  // namespace

TEST_CASE("a study trains what the ledger lacks, and shows it without training") {
  const testing::Scratch folder;
  const std::string runs = folder / "runs";
  Toys toys;
  CHECK(toys.run({"--runs", runs, "--seed", "5"}) == 0);
  CHECK(toys.trained == 4);
  CHECK(toys.run({"--runs", runs, "--from-ledger", "--seed", "5", "--size", "smoke"}) == 0);
  CHECK(toys.trained == 4);
  REQUIRE(toys.found.size() == 2);
  CHECK(toys.found[1].system == "b");
  CHECK(toys.found[1].values({.value = "seed"}) == std::vector<double>{5, 6});
  CHECK(toys.run({"--runs", runs, "--seed", "5", "--seeds", "3"}) == 0);
  CHECK(toys.trained == 6);
}

TEST_CASE("with --from-ledger a study refuses what the ledger lacks") {
  const testing::Scratch folder;
  const std::string runs = folder / "runs";
  Toys toys;
  CHECK(toys.run({"--runs", runs}) == 0);
  const auto show = [&](const std::string& from, const char* size, const char* seeds) {
    return toys.run({"--runs", from, "--from-ledger", "--size", size, "--seeds", seeds});
  };
  CHECK(show(runs, "smoke", "2") == 0);
  CHECK(show(runs, "smoke", "3") == 1);
  CHECK(show(runs, "report", "2") == 1);
  CHECK(toys.run({"--runs", runs, "--from-ledger"}) == 1);  // a ledger is of the size report
  CHECK(show(folder / "others", "smoke", "2") == 1);
  CHECK(toys.run({"--from-ledger"}) == 2);
  CHECK(toys.trained == 4);
}

TEST_CASE("a study takes what its users choose, and refuses seeds that choose settings") {
  Toys toys;
  CHECK(toys.run({"--size", "report", "--data", "here"}) == 0);
  CHECK(toys.size == "report");
  CHECK(toys.data == "here");
  for (const char* seed : {"100", "101"}) CHECK(toys.run({"--seed", seed}) == 2);
  for (const char* seed : {"99", "102"}) CHECK(toys.run({"--seed", seed}) == 0);
  CHECK(toys.run({"--rows", "many"}) == 2);
}

TEST_CASE("a study ends with exit code 1 if a claim fails") {
  Toys toys;
  toys.fails = true;
  CHECK(toys.run({}) == 1);
}
