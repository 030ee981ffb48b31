#include "experiments/ba2016_claims.h"

#include <catch2/catch.hpp>
#include <set>

#include "experiments/paper.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;

namespace {

/// How bad systems are, from 1 on.
using Levels = std::map<std::string, double>;

/// Levels as in the paper: layer is the best, and none is better than all others.
const Levels as_published{{"layer", 1},
                          {"none", 2},
                          {"symmetric", 3},
                          {"bag_of_words", 3},
                          {"batch", 3},
                          {"batch_hidden", 3},
                          {"batch_biased", 3},
                          {"batch_everywhere", 3},
                          {"layer_small_gain", 3},
                          {"layer_everywhere", 3}};

Levels reversed() {
  Levels levels = as_published;
  for (auto& [system, level] : levels) level = 4 - level;
  return levels;
}

/// A run that ends the worse and learns the later, the greater its level.
Outcome run(const PaperTask& task, double level) {
  Outcome outcome;
  for (Index i = 1; i <= 12; ++i)
    outcome.curve.push_back(
        {i, 10 * level / static_cast<double>(i), 20 * level / static_cast<double>(i)});
  const bool finds = task.metric.higher_is_better;
  const double test = finds ? 100 - 10 * level : task.name == "mnist_4" ? 2 * level : level;
  outcome.values = {{"test", test},
                    {"validation_loss", level},
                    {"largest_gradient", level},
                    {"frequencies", 5},
                    {"test_image_recall_1", 100 - 10 * level},
                    {"test_divergence", test / 4},
                    {"test_reconstruction", 3 * test / 4}};
  outcome.items = std::vector<double>(4, test);
  for (const std::string probe : {"r", "MR", "CR", "SUBJ", "MPQA"}) {
    const double unit = probe == "r" ? 100 : 1;
    outcome.values["test_" + probe] = test / unit;
    outcome.values["untrained_" + probe] = 50 / unit;
    outcome.traces["probed_" + probe] = {
        {0, 50 / unit}, {6, (test - 10) / unit}, {12, test / unit}};
  }
  for (Index caption = 0; caption < 8; ++caption)
    outcome.traces["ranks"].emplace_back(caption, level);
  return outcome;
}

Matrix matrix_of(const Levels& levels) {
  Matrix matrix;
  for (const PaperTask& task : ba2016().tasks) {
    MatrixColumn& column = matrix.emplace_back(MatrixColumn{.task = task});
    for (const std::string& system : task.systems)
      column.cells[system].results = {system,
                                      std::vector<Outcome>(3, run(task, levels.at(system)))};
  }
  return matrix;
}

bool is_of_level(const JudgedClaim& claim) {
  return claim.statement.find("they end level") != std::string::npos;
}

}  // namespace

TEST_CASE("each claim of Ba et al. is supported by its order and contradicted by the other") {
  const auto published = ba2016_claims(matrix_of(as_published)),
             other = ba2016_claims(matrix_of(reversed()));
  REQUIRE(published.size() == 33);
  REQUIRE(other.size() == published.size());
  for (std::size_t i = 0; i < published.size(); ++i) {
    CAPTURE(published[i].statement, published[i].judgement.reason, other[i].judgement.reason);
    if (is_of_level(published[i])) continue;
    CHECK(published[i].judgement.verdict == Verdict::supported);
    CHECK(other[i].judgement.verdict == Verdict::contradicted);
  }
}

TEST_CASE("nothing is judged where a rate further out may be better") {
  Records records;
  const PaperTask& task = ba2016().task("draw");
  const auto tried = [&](const std::string& system, double level, const std::string& rate,
                         double validation) {
    Record& record = records[system + "@" + rate][choosing_seed];
    record.outcome = run(task, level);
    record.outcome.values[task.validation().value] = validation;
    for (std::uint64_t seed = 1; seed <= 3; ++seed)
      records[system + "@" + rate][seed].outcome = run(task, level);
  };
  const auto verdicts = [&] {
    std::set<Verdict> found;
    for (const JudgedClaim& claim : ba2016_claims({make_column(task, records, 1, 3)}))
      found.insert(claim.judgement.verdict);
    return found;
  };
  for (const auto& [system, level] : {std::pair{"layer", 1.0}, {"none", 2.0}}) {
    tried(system, level, "0.001", level + 1);
    tried(system, level, "0.003", level);
  }
  CHECK(verdicts() == std::set{Verdict::at_edge});
  for (const auto& [system, level] : {std::pair{"layer", 1.0}, {"none", 2.0}})
    tried(system, level, "0.009", level + 1);
  CHECK(verdicts() == std::set{Verdict::supported});
}

TEST_CASE("handwriting ends level if the systems do") {
  Levels level = as_published;
  for (const double none : {1.0, 1.03, 1.1}) {
    level["none"] = none;
    for (const JudgedClaim& claim : ba2016_claims(matrix_of(level)))
      if (is_of_level(claim))
        CHECK(claim.judgement.verdict ==
              (none < 1.05 ? Verdict::supported : Verdict::contradicted));
  }
}

TEST_CASE("a system that diverges in large batches has the worst rise in small ones") {
  Matrix matrix = matrix_of(as_published);
  const auto judged = [&] {
    std::vector<Verdict> verdicts;
    for (const JudgedClaim& claim : ba2016_claims(matrix))
      if (claim.statement.find("rises less") != std::string::npos)
        verdicts.push_back(claim.judgement.verdict);
    return verdicts;
  };
  const auto runs = [&](const char* task, const char* system) -> std::vector<Outcome>& {
    return std::ranges::find(matrix, task,
                             [](const MatrixColumn& column) { return column.task.name; })
        ->cells.at(system)
        .results.runs;
  };
  using Verdicts = std::vector<Verdict>;
  CHECK(judged() == Verdicts{Verdict::supported, Verdict::supported});
  for (Outcome& each : runs("mnist_128", "batch")) each.curve.back().training = NAN;
  CHECK(judged() == Verdicts{Verdict::supported, Verdict::supported});
  for (Outcome& each : runs("mnist_128", "layer")) each.curve.back().training = NAN;
  CHECK(judged().back() == Verdict::contradicted);
  runs("mnist_4", "batch").front().items.pop_back();
  CHECK_THROWS_AS(ba2016_claims(matrix), DataError);
}

TEST_CASE("a run that diverged is behind all along") {
  Matrix matrix = matrix_of(as_published);
  for (MatrixColumn& column : matrix)
    for (Outcome& each : column.cells.at("layer").results.runs) each.curve.back().training = NAN;
  int count = 0;
  for (const JudgedClaim& claim : ba2016_claims(matrix))
    if (claim.statement.find("each of the last ten") != std::string::npos) {
      CHECK(claim.judgement.verdict == Verdict::contradicted);
      ++count;
    }
  CHECK(count == 2);
}

TEST_CASE("one point at the end of a curve does not decide what it has reached") {
  Matrix matrix = matrix_of(as_published);
  const auto judged = [&](double last) {
    for (MatrixColumn& column : matrix)
      for (Outcome& each : column.cells.at("layer").results.runs)
        each.curve.back().validation = last;
    std::vector<Verdict> verdicts;
    for (const JudgedClaim& claim : ba2016_claims(matrix))
      if (claim.statement.find("best validation error is lower") != std::string::npos)
        verdicts.push_back(claim.judgement.verdict);
    return verdicts;
  };
  CHECK(judged(1e6) == std::vector(4, Verdict::supported));
  matrix = matrix_of(reversed());
  CHECK(judged(1) == std::vector(4, Verdict::contradicted));
}

TEST_CASE("a run has not diverged because its last losses rise a little") {
  Matrix matrix = matrix_of(as_published);
  for (MatrixColumn& column : matrix)
    if (column.task.name == "mnist_4")
      for (Outcome& each : column.cells.at("layer").results.runs)
        for (std::size_t i = 2; i < each.curve.size(); ++i)
          each.curve[i].training = 2 + 0.01 * static_cast<double>(i);
  for (const JudgedClaim& claim : ba2016_claims(matrix))
    if (claim.statement.find("each of the last ten") != std::string::npos)
      CHECK(claim.judgement.verdict == Verdict::supported);
}

TEST_CASE("ranks that do not belong to the images' captions are refused") {
  for (const std::size_t images : {0, 3, 9}) {
    Matrix matrix = matrix_of(as_published);
    for (auto& [system, cell] : matrix.front().cells)
      for (Outcome& each : cell.results.runs) each.items.assign(images, 0);
    CHECK_THROWS_AS(ba2016_claims(matrix), DataError);
    CHECK_THROWS_AS(ba2016_mechanics(matrix), DataError);
  }
}

TEST_CASE("probes judge only if training has raised what they find") {
  Matrix matrix = matrix_of(as_published);
  const auto runs = [&](const std::string& system) -> std::vector<Outcome>& {
    return std::ranges::find(matrix, "skip_thoughts",
                             [](const MatrixColumn& column) { return column.task.name; })
        ->cells.at(system)
        .results.runs;
  };
  const auto judged = [&] {
    std::vector<Judgement> judgements;
    for (const JudgedClaim& claim : ba2016_claims(matrix))
      if (claim.statement.find("its probes find more") != std::string::npos)
        judgements.push_back(claim.judgement);
    REQUIRE(judgements.size() == 2);
    return judgements;
  };
  for (Outcome& each : runs("layer"))  // layer finds nothing of CR
    each.values["test_CR"] = each.traces["probed_CR"][1].second = 0;
  CHECK(judged()[0].verdict == Verdict::contradicted);
  CHECK(judged()[1].verdict == Verdict::contradicted);
  for (Outcome& each : runs("none")) each.values["untrained_CR"] = 80;  // as after training
  for (const Judgement& each : judged()) {
    CHECK(each.verdict == Verdict::supported);
    CHECK_THAT(each.reason, Catch::StartsWith("by r, MR, SUBJ, MPQA, which training raises: +10"));
  }
  for (Outcome& each : runs("none"))
    for (const std::string probe : {"r", "MR", "SUBJ", "MPQA"})
      each.values["untrained_" + probe] = 90;
  for (const Judgement& each : judged()) CHECK(each.verdict == Verdict::inconclusive);
  for (Outcome& each : runs("none")) {
    each.values["untrained_MR"] = 50;
    each.traces["probed_MR"].resize(1);
  }
  CHECK_THROWS_AS(ba2016_claims(matrix), DataError);
}

TEST_CASE("skip-thoughts that know no more than frequencies have no verdict on their losses") {
  for (const double frequencies : {1.5, 2.5}) {  // none ends with 2, layer with 1
    Matrix matrix = matrix_of(as_published);
    int judged = 0;
    for (MatrixColumn& column : matrix)
      for (auto& [system, cell] : column.cells)
        for (Outcome& each : cell.results.runs) each.values["frequencies"] = frequencies;
    for (const JudgedClaim& claim : ba2016_claims(matrix))
      if (claim.statement.starts_with("Sentences"))
        judged += is_judged(claim.judgement.verdict) ? 1 : 0;
    CHECK(judged == (frequencies < 2 ? 2 : 4));
  }
}

TEST_CASE("nothing is claimed of systems that have not been trained") {
  Matrix matrix = matrix_of(as_published);
  for (MatrixColumn& column : matrix) column.cells.erase("none");
  for (const JudgedClaim& claim : ba2016_claims(matrix))
    CHECK(claim.statement.find("none") == std::string::npos);
  CHECK(ba2016_claims({}).empty());
}

TEST_CASE("mechanics fail for wrong recalls and for bounds that are no sums") {
  Matrix matrix = matrix_of(as_published);
  const auto holds = [&] {
    std::vector<bool> all;
    for (const Claim& claim : ba2016_mechanics(matrix)) all.push_back(claim.holds);
    return all;
  };
  const auto outcome = [&](std::size_t task) -> Outcome& {
    return matrix[task].cells.at("layer").results.runs.front();
  };
  for (MatrixColumn& column : matrix)  // recalls follow from ranks
    for (auto& [system, cell] : column.cells)
      for (Outcome& each : cell.results.runs)
        for (const int k : {1, 5, 10})
          each.values[fmt::format("test_image_recall_{}", k)] =
              each.traces["ranks"].front().second <= k ? 100 : 0;
  CHECK(holds() == std::vector<bool>{true, true});
  outcome(0).values["test_image_recall_5"] = 99;
  CHECK(holds() == std::vector<bool>{false, true});
  outcome(3).values["test_divergence"] = 0;
  CHECK(holds() == std::vector<bool>{false, false});
  CHECK(ba2016_mechanics({}).empty());
}
