#include "experiments/matrix_training.h"

#include <catch2/catch.hpp>

#include "experiments/paper.h"
#include "support/scratch.h"
#include "tapegrad/core/error.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;

namespace {

/// A task whose runs are noted. AdaNorm is best with c = 2, all systems with the greater rate
/// but none.
struct Toy {
  std::string name = "rt";
  std::vector<std::string> trained = {};
  std::size_t fails_at = 1000;
  std::optional<double> best_rate = {};

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
    if (best_rate) outcome.values["validation"] = 1 - std::abs(std::log(rate / *best_rate));
    if (norm == "ada:c=2") outcome.values["validation"] += 1;
    if (trial.tested) {
      outcome.items = {60 + static_cast<double>(trial.trial.seed)};
      outcome.values["test"] = mean_of_items(outcome);
    }
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

TEST_CASE("rates are tried further out until a worse one is on both sides") {
  Toy toy;
  Ledger none;
  const auto best = [&](std::size_t most) {
    toy.trained.clear();
    const Matrix matrix = train(toy, none,
                                {.systems = {"none"},
                                 .comparison = {.seeds = 1, .seed = 5},
                                 .most_rates = most,
                                 .quiet = true});
    return rt(matrix).cells.at("none");
  };
  // The validation of none is 1 - |log(rate / 0.0111)|.
  toy.best_rate = 0.0111;
  const MatrixCell found = best(7);
  CHECK(toy.trained == std::vector<std::string>{"none@0.1 101", "none@0.3 101", "none@0.0333 101",
                                                "none@0.0111 101", "none@0.0037 101",
                                                "none@0.0111 5 tested", "majority"});
  CHECK(found.setting == "none@0.0111");
  CHECK(found.is_interior);
  CHECK_FALSE(found.results.at_edge);
  const MatrixCell stopped = best(3);
  CHECK(stopped.setting == "none@0.0333");
  CHECK(stopped.tried == 3);
  CHECK(stopped.results.at_edge);
}

TEST_CASE("a rate counts when all choosing seeds have tried it, by their mean") {
  PaperTask task = xu2019().task("mnist");
  task.choosing_seeds = 2;
  Records records;
  const auto enter = [&](const std::string& rate, std::uint64_t seed, double validation) {
    records["layer_simple@" + rate][seed] = {
        Json::object(),
        "toys",
        "1",
        {.curve = {{1, 2}, {2, 1, 1}}, .values = {{"validation", validation}}}};
  };
  enter("0.001", 101, 99);  // is ahead with the first seed, but not with both
  enter("0.001", 102, 91);
  enter("0.003", 101, 97);
  enter("0.003", 102, 96);
  enter("0.009", 101, 100);  // lacks a seed
  const SettingSearch search(task, "layer_simple", records);
  CHECK(search.tried() == 2);
  CHECK(search.best().name() == "layer_simple@0.003");
}

TEST_CASE("AdaNorm tries further rates with its best factor alone") {
  Toy toy;
  Ledger none;
  const Matrix matrix = train(
      toy, none,
      {.systems = {"ada"}, .comparison = {.seeds = 1, .seed = 5}, .most_rates = 7, .quiet = true});
  CHECK(rt(matrix).cells.at("ada").tried == 11);  // six, and 0.9, 2.7, 8.1, 24.3 and 72.9
  CHECK(rt(matrix).cells.at("ada").setting == "ada:c=2@72.9");
}

TEST_CASE("a form of a norm is a system of its own") {
  const PaperTask& task = xu2019().task("mnist");
  Records records;
  const auto enter = [&](const std::string& name, double validation) {
    records[name][choosing_seed] = {
        Json::object(),
        "toys",
        "1",
        {.curve = {{1, 2}, {2, 1, 1}}, .values = {{"validation", validation}}}};
  };
  enter("layer_simple@0.001", 90);
  enter("layer_simple:forward=identity,factor=1@0.003", 99);
  const MatrixColumn column = make_column(task, records, 1, 1);
  CHECK(column.cells.at("layer_simple").setting == "layer_simple@0.001");
  CHECK(column.cells.at("layer_simple:forward=identity,factor=1").setting ==
        "layer_simple:forward=identity,factor=1@0.003");
  CHECK(column.cells.size() == 2);
}

TEST_CASE("a queue trains what the whole matrix needs, the least finished system first") {
  const MatrixTraining::Options options{
      .systems = {"none", "ada"}, .comparison = {.seeds = 2, .seed = 5}, .quiet = true};
  const Paper paper{"toys", xu2019().tasks};
  Toy whole;
  Ledger none;
  train(whole, none);
  const testing::Scratch folder;
  Ledger ledger = ledger_in(folder.path);
  Toy toy;
  Cluster cluster;
  const std::vector<MatrixTask> tasks{toy.task()};
  MatrixTraining training(cluster, ledger, options);
  CHECK(training.missing(paper, tasks[0]).size() == 8);
  training.train_missing(paper, tasks);
  CHECK(training.missing(paper, tasks[0]).empty());
  std::vector<std::string> expected = whole.trained;
  std::ranges::sort(expected);
  std::vector<std::string> sorted = toy.trained;
  std::ranges::sort(sorted);
  CHECK(sorted == expected);
  CHECK(toy.trained[0] == "majority");
  CHECK(toy.trained[1] == "none@0.1 101");
  CHECK(toy.trained[2] == "ada:c=0.5@0.1 101");  // none has one, ada nothing
}

TEST_CASE("runs at a given rate change neither the chosen rates nor the results") {
  const testing::Scratch folder;
  Ledger ledger = ledger_in(folder.path);
  Toy toy;
  const Matrix before = train(toy, ledger);
  MatrixTraining::Options options = two_systems;
  options.rate = 0.7;
  Cluster cluster;
  const std::vector<MatrixTask> tasks{toy.task()};
  const Paper paper{"toys", xu2019().tasks};
  MatrixTraining training(cluster, ledger, options);
  CHECK(training.missing(paper, tasks[0]).size() == 4);
  training.train_missing(paper, tasks);
  CHECK(training.missing(paper, tasks[0]).empty());
  CHECK(std::ranges::count(toy.trained, "none@0.7 5 tested") == 1);
  CHECK(std::ranges::count(toy.trained, "ada:c=2@0.7 6 tested") == 1);
  const Matrix after = train(toy, ledger);
  CHECK(rt(after).cells.at("ada").setting == rt(before).cells.at("ada").setting);
  CHECK(rt(after).cells.at("ada").tried == 6);
  CHECK(rt(after).cells.at("none").results.runs.size() == 2);
}

TEST_CASE("a queue refuses runs of another configuration") {
  const testing::Scratch folder;
  Ledger ledger = ledger_in(folder.path);
  Toy toy;
  train(toy, ledger);
  MatrixTask other = toy.task();
  other.configuration["steps"] = 2;
  Cluster cluster;
  MatrixTraining training(cluster, ledger, two_systems);
  CHECK_THROWS_WITH(training.missing({"toys", xu2019().tasks}, other),
                    Catch::Contains("another configuration: steps nothing, not 2"));
}

TEST_CASE("a queue does not take a run for finished that lacks what tables need") {
  const testing::Scratch folder;
  Ledger ledger = ledger_in(folder.path);
  Toy toy;
  train(toy, ledger);
  const Paper paper{"toys", xu2019().tasks};
  const MatrixTask task = toy.task();
  Cluster cluster;
  MatrixTraining training(cluster, ledger, two_systems);
  CHECK_NOTHROW(training.missing(paper, task));
  RunFile file(folder / "toys.jsonl.gz");
  const RunKey key{"toys/rt/none@0.1", 5};
  Record lacking = read_record(file.runs().latest(key)->record, "");
  lacking.outcome.items.clear();
  file.add(key, to_string(lacking));
  CHECK_THROWS_WITH(training.missing(paper, task),
                    Catch::Contains("toys/rt/none@0.1 seed 5: it has no test items; remove"));
}

TEST_CASE("what another process trains is left to it") {
  const testing::Scratch folder;
  Ledger ledger = ledger_in(folder.path);
  ledger.begin("toys/rt", "");
  {
    const FileLock mine = ledger.claim("none@0.1", 101);
    CHECK(mine.is_held());
    CHECK_FALSE(ledger.claim("none@0.1", 101).is_held());
    CHECK(ledger.claim("none@0.3", 101).is_held());
  }
  CHECK(ledger.claim("none@0.1", 101).is_held());
  CHECK(ledger.records().empty());
}
