#include "experiments/signal.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "experiments/condition_tasks.h"
#include "experiments/drift_claims.h"
#include "problems/parsing.h"
#include "results.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using tapegrad::testing::results;

namespace {

const Metric test_error{.value = "test", .worst = 100};

/// A column of a task in which each system ends at its value and a little more, by seed.
MatrixColumn column_of(const std::string& name, const std::map<std::string, double>& ends) {
  MatrixColumn column{.task = signal_paper().task(name)};
  for (const std::string& system : column.task.all_systems()) {
    std::string norm = system.substr(0, system.find('+'));
    const double end = ends.contains(system) ? ends.at(system) : ends.at(norm);
    std::vector<double> values;
    for (int seed = 0; seed < 10; ++seed)
      values.push_back(end + 0.001 * ((seed * static_cast<int>(system.size())) % 7));
    column.cells[system] = {system + "@1", results(system, test_error, values), {}, 3, true};
  }
  return column;
}

/// What is predicted comes true in three tasks, but for what is changed.
Matrix columns_with(const std::map<std::string, double>& changed) {
  std::map<std::string, double> ends{{"layer_simple", 5},         {"detach_mean", 15},
                                     {"detach_mean+center", 5.1}, {"detach_mean+center+unit", 5.1},
                                     {"detach_variance", 12},     {"detach", 16},
                                     {"detach+center", 12.1},     {"rms_simple", 6},
                                     {"rms_detached", 13}};
  for (const auto& [system, end] : changed) ends[system] = end;
  Matrix matrix;
  for (const char* name : {"perceptron_6_adam", "perceptron_12_adam", "conv_net_adam"})
    matrix.push_back(column_of(name, ends));
  return matrix;
}

std::vector<Verdict> verdicts(const Matrix& matrix) {
  std::vector<Verdict> found;
  for (const JudgedClaim& claim : signal_predictions(matrix, "Adam"))
    found.push_back(claim.judgement.verdict);
  return found;
}

constexpr Verdict yes = Verdict::supported, no = Verdict::contradicted,
                  open = Verdict::inconclusive;

}  // namespace

TEST_CASE("the share of a cost is a ratio of means over seeds, with an interval", "[lab][signal]") {
  const auto of = [](const std::vector<double>& values) {
    return results("any", test_error, values);
  };
  const Results attached = of({5, 5, 5}), detached = of({15, 16, 14});
  const Ratio all = ratio_of_leads(test_error, attached, detached, attached, detached);
  CHECK(all.value == 1);
  CHECK(all.low == 1);
  CHECK(all.high == 1);
  // Leads of 6, 8 and 4 beside leads of 10, 11 and 9: 18 / 30.
  const Ratio some = ratio_of_leads(test_error, of({9, 8, 10}), detached, attached, detached);
  CHECK(some.value == Approx(0.6));
  // The least and the greatest ratio of a seed, which 1 of 27 resamples repeats: 4/9 and 8/11.
  CHECK(some.low == Approx(4.0 / 9));
  CHECK(some.high == Approx(8.0 / 11));
  CHECK(some.to_string() == "0.60 [0.44, 0.73]");
  // A resample without a cost has no share: it may be any.
  const Ratio unsure = ratio_of_leads(test_error, attached, of({5, 6, 4}), attached, of({5, 6, 4}));
  CHECK(std::isinf(unsure.low));
  CHECK(std::isinf(unsure.high));
  CHECK_THROWS_AS(ratio_of_leads(test_error, of({1}), detached, attached, detached), DataError);
}

TEST_CASE("what is predicted of bookkeeping and signal can be found and can fail",
          "[lab][signal]") {
  CHECK(verdicts(columns_with({})) == std::vector{yes, yes, yes, yes, yes});
  // Half of the cost remains, or goes where none should.
  CHECK(verdicts(columns_with({{"detach_mean+center", 10}}))[0] == no);
  CHECK(verdicts(columns_with({{"detach_variance+unit", 6}}))[1] == no);
  CHECK(verdicts(columns_with({{"detach+center", 14}}))[2] == no);
  CHECK(verdicts(columns_with({{"layer_simple+unit", 7}, {"layer_simple+center", 7}}))[3] == no);
  CHECK(verdicts(columns_with({{"rms_detached", 6.5}}))[4] == no);
  // Where a detached mean costs nothing, no share of it can be removed.
  CHECK(verdicts(columns_with({{"detach_mean", 5}}))[0] == open);
}

TEST_CASE("a prediction needs four tasks in five, and three that it speaks of", "[lab][signal]") {
  Matrix matrix = columns_with({});
  for (const char* name : {"pre_2_adam", "pre_6_adam"})
    matrix.push_back(column_of(name, {{"layer_simple", 5},
                                      {"detach_mean", 15},
                                      {"detach_variance", 12},
                                      {"detach", 16},
                                      {"rms_simple", 6},
                                      {"rms_detached", 13}}));
  CHECK(verdicts(matrix)[0] == no);  // in two of five centered weights remove nothing
  matrix.pop_back();
  CHECK(verdicts(matrix)[0] == no);  // four in five of four are four
  matrix[3] = column_of("pre_2_adam", {{"layer_simple", 5},
                                       {"detach_mean", 5},
                                       {"detach_variance", 12},
                                       {"detach", 16},
                                       {"rms_simple", 6},
                                       {"rms_detached", 13}});
  CHECK(verdicts(matrix)[0] == yes);  // it speaks of three
  CHECK(verdicts({matrix[0], matrix[1]})[0] == open);
  matrix[0].cells.at("detach_mean+center").results.at_edge = true;
  CHECK(verdicts({matrix[0], matrix[1], matrix[2]})[0] == open);
}

TEST_CASE("reasons have the power of their tests", "[lab][signal]") {
  for (const JudgedClaim& claim : signal_predictions(columns_with({}), "Adam"))
    CHECK(claim.judgement.reason.find("power 1.00") != std::string::npos);
}

TEST_CASE("tasks of signal differ in optimizer, net and data alone", "[lab][signal]") {
  CHECK(signal_paper().tasks.size() == 13);
  const std::vector<std::string> systems = signal_paper().tasks[0].all_systems();
  CHECK(systems.size() == 20);
  CHECK(systems[0] == "layer_simple");
  CHECK(systems[7] == "detach_mean+center+unit");
  CHECK(systems.back() == "rms_detached+center");
  const auto tasks = signal_tasks({"post_2_momentum", "conv_net_adam"}, {}, problems::Size::smoke);
  REQUIRE(tasks.size() == 2);
  CHECK(tasks[0].configuration.at("placement") == "post");
  CHECK(tasks[0].rate == 0.3);
  CHECK(tasks[1].configuration.at("task") == "cnn");
  const auto tested = [&](bool is_tested) {
    return tasks[0].train({{"detach+center+unit", 0.01}, {.seed = 5}, is_tested});
  };
  CHECK(tested(true).values.contains("test"));
  CHECK_FALSE(tested(false).values.contains("test"));
  CHECK(tested(true).traces.at("cosine").size() == 20);
  CHECK_THROWS_AS(signal_tasks({"pre_3_adam"}, {}, problems::Size::smoke), ArgumentError);
}

TEST_CASE("the parser's gradients are looked at under the dropout of their step", "[lab][signal]") {
  support::Treebank bank = support::draw_treebank(1);
  bank.train.resize(200);
  bank.validation.resize(30);
  bank.test.resize(40);
  const MatrixTask task = problem_task(
      signal_paper().task("ud_ewt_adam"),
      problems::parser_problem(bank, {.embedding = 8, .hidden = 32, .batch_size = 64, .epochs = 3}),
      "adam", true);
  CHECK(task.configuration.at("dropout") == 0.2);
  CHECK(task.configuration.at("optimizer") == "Adam\nwarmup and cosine");
  CHECK(task.systems == signal_paper().tasks[0].all_systems());
  const auto trained = [&](const std::string& system) {
    return task.train({{system, 0.01}, {.seed = 5}, true});
  };
  const Outcome attached = trained("layer_simple");
  for (const auto& [step, cosine] : trace_of(attached, "cosine")) CHECK(cosine == Approx(1));
  CHECK(attached.values.at("validation") < 2);  // the loss; "validation_loss" is the UAS
  CHECK(attached.values.at("validation_loss") > 50);
  CHECK(attached.values.at("test") > 50);
  CHECK(attached.values == trained("layer_simple").values);
  CHECK(trace_of(trained("rms_detached"), "cosine").back().second < 0.999);
  const Outcome constrained = trained("detach_mean+center+unit");
  CHECK(trace_of(constrained, "weights").back().second < 1e-4);
  CHECK(largest(trace_of(constrained, "length")) == Approx(1));
}

TEST_CASE("a common mode of filters is free before a norm over channels, not over an image",
          "[lab][signal]") {
  for (const char* norm : {"layer_simple", "layer:over=channels"}) {
    Random random(1);
    const ConvNet net(random, {.norm = norm, .hidden_norm = "layer_simple"});
    const Tensor images = random.uniform({4, 1, 28, 28}), weights = random.normal({4, 10});
    Index filters = 0;
    for (const FreeDirection& found :
         free_directions(fields(net), [&] { return mean(weights * net(images)); }))
      filters += found.kind == FreeKind::shift && found.parts[0].name != "hidden.weight" &&
                 found.parts[0].name.ends_with(".weight");
    CHECK(filters == (norm == std::string("layer_simple") ? 0 : 2));
  }
}
