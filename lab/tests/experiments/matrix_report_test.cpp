#include "experiments/matrix_report.h"

#include <catch2/catch.hpp>

#include "experiments/paper.h"
#include "support/golden_file.h"
#include "tapegrad/core/error.h"
#include "tapegrad/tapegrad.h"
#include "written_ledger.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using Catch::Contains;

namespace {

Json golden() { return *parse_json(read_text(testing::golden_file("paper_tables.json")), 6); }

/// The ledger that was written by hand, and a page of it.
class Written : public testing::WrittenLedger {
 public:
  Written() : WrittenLedger(xu2019()) {
    const Json by_hand = golden();
    for (const auto& [task, settings] : by_hand["ledger"].items())
      for (const auto& [setting, runs] : settings.items()) {
        std::uint64_t seed = 0;
        for (const Json& value : runs["seeds"])
          keep(task, setting, ++seed, value.is_null() ? NAN : value.get<double>(), 0);
        keep(task, setting, choosing_seed, 0, runs["validation"]);
      }
    for (const auto& [task, values] : by_hand["baselines"].items())
      for (const auto& [name, value] : values.items()) keep(task, name, 1, value, 0);
  }

  void keep(const std::string& task, const std::string& system, std::uint64_t seed, double test,
            double validation, const std::string& data = "the data of ") {
    const Outcome outcome{.curve = {{1, 3}, {10, 2 - test / 1000, 2.5 + test / 1000}},
                          .values = {{"test", test},
                                     {"test_long", test / 2},
                                     {"validation", validation},
                                     {"training_loss", 2 - test / 1000},
                                     {"validation_loss", 2.5 + test / 1000}},
                          .items = {test}};
    WrittenLedger::keep(task, system, seed,
                        to_string({{{"optimizer", "Adam\nfast"}, {"initial values", "small\nnone"}},
                                   data + task,
                                   "1",
                                   outcome}));
  }

  /// Makes the page from the ledger.
  void report(int only = 0) const {
    REQUIRE(WrittenLedger::report([only](Report& report, const Matrix& matrix) {
              report_matrix(report, matrix, only);
            }) == 0);
  }
};

}  // namespace

TEST_CASE("a ledger written by hand gives exactly the tables that Python computes from it") {
  Written written;
  written.report();
  const Json expected = golden();
  for (std::size_t i = 0; i < expected["tables"].size(); ++i)
    CHECK(written.file(fmt::format("xu2019_table{}.csv", i + 1)) ==
          expected["tables"][i].get<std::string>());
  CHECK_FALSE(written.has(fmt::format("xu2019_table{}.csv", expected["tables"].size() + 1)));
  for (const Json& paragraph : expected["paragraphs"])
    CHECK_THAT(written.file("xu2019.html"),
               Contains("<p>" + paragraph.get<std::string>() + "</p>"));
  // What is published stands below what was measured.
  CHECK_THAT(written.file("xu2019.html"),
             Contains("<td>76.20 +- 0.20 (3)<br><small>76.85</small></td>"));
}

TEST_CASE("a claim on seeds with test sets of their own pairs the seeds alone") {
  Written written;
  written.report();
  CHECK_THAT(
      written.file("xu2019.html"),
      Contains("RT, five splits: layer_simple and layer differ by less than 1 % accuracy.") &&
          Contains("layer_simple 75.10 +- 0.61 (5), layer 75.00 +- 0.71 (5); "
                   "+0.1 +- 0.2 (5 seeds)"));
}

TEST_CASE("figures have the means of the curves; those without runs are named") {
  Written written;
  written.keep("enwik8", "layer@0.001", 3, 2.7, 0);
  written.report();
  const std::string page = written.file("xu2019.html");
  CHECK(written.file("xu2019_figure1_enwik8.csv").find("layer_simple, validation deviation") !=
        std::string::npos);
  CHECK_FALSE(written.has("xu2019_figure1_de_en.csv"));
  for (const char* missing :
       {"Figure 1, Multi30k De-En", "Figure 2, Multi30k En-De", "Figure 2, Multi30k De-En",
        "Figure 3, UD-EWT", "Figure 1, enwik8, 300 kB"})
    CHECK_THAT(page, Contains(fmt::format("<p>{}: not run.</p>", missing)));
  CHECK_THAT(page, !Contains("Missing runs"));
  CHECK_THAT(page, Contains("enwik8 prefix: layer against layer_simple: it overfits"));
}

TEST_CASE("the picture of what detaching costs names the system that has not learned") {
  Written written;
  written.report();
  const std::string values = written.file("xu2019_detaching.csv");
  CHECK_THAT(values, Contains("rt,detach,1.298"));  // 100 (77 - 76) / 77
  CHECK_THAT(values, Contains("rt,detach_mean,not learned,,2.139"));
  CHECK_THAT(written.file("xu2019_detaching.svg"), Contains(">not learned<"));
}

TEST_CASE("one table can be had alone") {
  Written written;
  written.report(2);
  const Json expected = golden();
  CHECK(written.file("xu2019_table1.csv") == expected["tables"][1].get<std::string>());
  CHECK_FALSE(written.has("xu2019_table5.csv"));  // table, baselines, settings, data
  CHECK_THAT(written.file("xu2019.html"), !Contains("Table 1:") && !Contains("Signs of"));
}

TEST_CASE("a ledger in which a run has other data is refused by name") {
  Written written;
  written.keep("rt", "none@0.001", 2, 76, 0, "others of ");
  CHECK_THROWS_WITH(written.read(),
                    Contains("xu2019/rt/none@0.001 seed 2: it was trained on other data: "
                             "digest others of rt, not the data of rt"));
}

TEST_CASE("a run that lacks what tables need is refused by name") {
  const std::vector<CurvePoint> curve{{1, 2}, {2, 1}};
  const auto refusal = [](std::uint64_t seed, const std::string& system, const Outcome& outcome) {
    Written written;
    written.WrittenLedger::keep("rt", system, seed,
                                to_string({Json::object(), "the data of rt", "1", outcome}));
    CHECK_THROWS_WITH(written.read(),
                      Contains(fmt::format("xu2019/rt/{} seed {}: it", system, seed)));
  };
  refusal(2, "none@0.001", {.values = {{"test", 76}}, .items = {76}});
  refusal(2, "none@0.001", {.curve = curve, .items = {76}});
  refusal(2, "none@0.001", {.curve = curve, .values = {{"test", 76}}});
  refusal(choosing_seed, "none@0.001", {.values = {{"validation", 76}}});
  refusal(choosing_seed, "none@0.001", {.curve = curve, .values = {{"test", 76}}});
  refusal(1, "majority", {});
}

TEST_CASE("runs whose test items do not pair are refused by name") {
  Written written;
  const Outcome two_items{.curve = {{1, 2}, {2, 1}}, .values = {{"test", 76}}, .items = {76, 76}};
  written.WrittenLedger::keep("rt", "none@0.001", 2,
                              to_string({Json::object(), "the data of rt", "1", two_items}));
  Report report;
  CHECK_THROWS_WITH(report_matrix(report, written.read()),
                    Contains("xu2019/rt/none@0.001 seed 2") && Contains("cannot be paired"));
}

TEST_CASE("the chance of heads is binomial") {
  CHECK(binomial_chance(0, 5) == Approx(1));
  CHECK(binomial_chance(5, 5) == Approx(1.0 / 32));
  CHECK(binomial_chance(4, 5) == Approx(6.0 / 32));
  CHECK(binomial_chance(0, 0) == Approx(1));
}

TEST_CASE("a test value must be the mean of its items, and have some") {
  const auto code = [](const std::vector<double>& items) {
    MatrixColumn column{.task = xu2019().task("rt")};
    column.cells["layer"].results = {
        "layer", {{.curve = {{1, 2}, {2, 1}}, .values = {{"test", 50}}, .items = items}}};
    Report report;
    claim_mechanics(report, {column});
    return report.finish();
  };
  CHECK(code({100, 0}) == 0);
  CHECK(code({100, 100}) == 1);
  CHECK(code({}) == 1);
  CHECK(code({100, NAN}) == 1);
}
