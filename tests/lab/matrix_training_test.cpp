#include "lab/matrix_training.h"

#include <catch2/catch.hpp>

#include "lab/paper_xu2019.h"
#include "support/scratch.h"
#include "tapegrad/core/error.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;

namespace {

/// A task whose trainings are noted. AdaNorm is best with c = 2, all systems with the greater rate
/// but none.
struct Toy {
  std::string name = "rt";
  std::vector<std::string> trained = {};
  std::size_t fails_at = 1000;

  MatrixTask task() {
    return {.name = name,
            .source = "toys",
            .data = "toys",
            .configuration = {{"optimizer", "Adam"}},
            .rate = 0.1,
            .steps = 1,
            .seconds = 1,
            .train = [this](const TaskTrial& trial) { return train(trial); },
            .baselines = {{"majority", [this] {
                             trained.push_back("majority");
                             return Outcome{.values = {{"test", 50}}};
                           }}}};
  }

  Outcome train(const TaskTrial& trial) {
    const auto& [norm, rate] = trial.setting;
    expect<Error>(trained.size() < fails_at, "stopped");
    trained.push_back(fmt::format("{} {}{}", trial.setting.name(), trial.trial.seed,
                                  trial.tested ? " tested" : ""));
    Outcome outcome{.curve = {{1, 2}, {2, 1, 1}},
                    .values = {{"validation", norm == "none" ? 1 - rate : rate}}};
    if (norm == "ada:c=2") outcome.values["validation"] += 1;
    if (trial.tested) outcome.values["test"] = 60 + static_cast<double>(trial.trial.seed);
    return outcome;
  }
};

const MatrixTraining::Options two_systems{
    .systems = {"none", "ada"}, .comparison = {.seeds = 2, .seed = 5}, .quiet = true};

Matrix train(Toy& toy, Ledger& ledger, const MatrixTraining::Options& options = two_systems) {
  Cluster cluster;
  return MatrixTraining(cluster, ledger, options).train({"toys", xu2019().tasks}, {toy.task()});
}

const MatrixColumn& rt(const Matrix& matrix, std::string_view name = "rt") {
  for (const MatrixColumn& column : matrix)
    if (column.task.name == name) return column;
  throw std::logic_error("there is no such column");
}

Ledger ledger_in(const std::filesystem::path& runs) {
  Ledger ledger;
  Flags flags("lab", "");
  ledger.add_to(flags);
  std::string words[] = {"lab", "--runs=" + runs.string()};
  char* argv[] = {words[0].data(), words[1].data()};
  flags.run(2, argv, [] { return 0; });
  return ledger;
}

}  // namespace

TEST_CASE("settings are chosen with a seed of their own, without the test set") {
  Toy toy;
  Ledger none;
  const Matrix matrix = train(toy, none);
  CHECK(toy.trained == std::vector<std::string>{
                           "none@0.1 101", "none@0.3 101", "ada:c=0.5@0.1 101", "ada:c=0.5@0.3 101",
                           "ada:c=1@0.1 101", "ada:c=1@0.3 101", "ada:c=2@0.1 101",
                           "ada:c=2@0.3 101", "none@0.1 5 tested", "none@0.1 6 tested",
                           "ada:c=2@0.3 5 tested", "ada:c=2@0.3 6 tested", "majority"});
  const MatrixColumn& column = rt(matrix);
  CHECK(column.cells.at("ada").setting == "ada:c=2@0.3");
  CHECK(column.cells.at("ada").tried == 6);
  CHECK(column.cells.at("none").results.values(column.task.metric) == std::vector<double>{65, 66});
  CHECK_FALSE(column.cells.contains("layer"));
  CHECK(column.task.metric.baseline == 50.0);
  CHECK(column.optimizer == "Adam");
  CHECK(matrix.size() == xu2019().tasks.size());
}

TEST_CASE("without a choice, all systems of a task are trained") {
  Toy toy;
  Ledger none;
  const Matrix matrix = train(toy, none, {.comparison = {.seeds = 1, .seed = 5}, .quiet = true});
  CHECK(rt(matrix).cells.size() == paper_norms.size());
}

TEST_CASE("a task may need more seeds than are asked for, in training and in the ledger") {
  const testing::Scratch folder;
  Ledger ledger = ledger_in(folder.path);
  Toy toy{.name = "rt_splits", .fails_at = 6};  // two tries, and four of five seeds
  const MatrixTraining::Options one_system{
      .systems = {"layer"}, .comparison = {.seeds = 2, .seed = 5}, .quiet = true};
  CHECK_THROWS_AS(train(toy, ledger, one_system), Error);
  const PaperTask& task = xu2019().task("rt_splits");
  ledger.begin("toys/rt_splits", "");
  CHECK(make_column(task, ledger.records(), 5, 2).cells.at("layer").missing ==
        std::vector<std::uint64_t>{9});
  toy.fails_at = 1000;
  const Matrix matrix = train(toy, ledger, one_system);
  CHECK(rt(matrix, "rt_splits").of("layer")->values(task.metric) ==
        std::vector<double>{65, 66, 67, 68, 69});
}

TEST_CASE("a matrix that was interrupted anywhere is completed, and nothing is repeated") {
  Toy whole;
  Ledger none;
  train(whole, none);
  for (const std::size_t stop : {0U, 3U, 8U, 11U}) {
    const testing::Scratch folder;
    Ledger ledger = ledger_in(folder.path);
    Toy toy{.fails_at = stop};
    CHECK_THROWS_AS(train(toy, ledger), Error);
    toy.fails_at = 1000;
    const Matrix matrix = train(toy, ledger);
    CHECK(toy.trained == whole.trained);
    const std::size_t before = toy.trained.size();
    CHECK(rt(train(toy, ledger)).cells.at("ada").setting == "ada:c=2@0.3");
    CHECK(toy.trained.size() == before);
    // What was trained stands in the ledger.
    ledger.begin("toys/rt", "");
    const MatrixColumn read = make_column(xu2019().task("rt"), ledger.records(), 5, 2);
    CHECK(read.cells.at("none").results.values(read.task.metric) == std::vector<double>{65, 66});
    CHECK(make_column(xu2019().task("rt"), ledger.records(), 5, 3).cells.at("none").missing ==
          std::vector<std::uint64_t>{7});
  }
}
