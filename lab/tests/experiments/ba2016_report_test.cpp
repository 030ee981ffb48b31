#include "experiments/ba2016_report.h"

#include <catch2/catch.hpp>

#include "experiments/ba2016_claims.h"
#include "experiments/matrix_tables.h"
#include "experiments/paper.h"
#include "support/golden_file.h"
#include "tapegrad/core/error.h"
#include "tapegrad/tapegrad.h"
#include "written_ledger.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using Catch::Contains;

namespace {

Json golden() { return *parse_json(read_text(testing::golden_file("ba2016_tables.json")), 9); }

/// The ledger that was written by hand, and a page of it.
class Written : public testing::WrittenLedger {
 public:
  Written() : WrittenLedger(ba2016()) {
    const Json by_hand = golden();
    for (const auto& [task, systems] : by_hand["ledger"].items())
      for (const auto& [system, by_seed] : systems.items())
        for (const auto& [seed, record] : by_seed.items())
          keep(task, system, std::stoul(seed), record.dump());
  }

  /// Makes the page from the ledger.
  void report(int only = 0, bool seconds = true) const {
    REQUIRE(WrittenLedger::report([&](Report& report, const Matrix& matrix) {
              report_ba2016(report, matrix, only, seconds);
            }) == 0);
  }
};

}  // namespace

TEST_CASE("a ledger of Ba et al. written by hand gives the tables that Python computes from it") {
  Written written;
  written.report();
  const Json expected = golden();
  for (const auto& [number, table] : expected["tables"].items())
    CHECK(written.file(fmt::format("ba2016_table{}.csv", number)) == table.get<std::string>());
  CHECK_FALSE(written.has("ba2016_table8.csv"));
}

TEST_CASE("verdicts on Ba et al. are those that Python computes") {
  const std::vector<JudgedClaim> claims = ba2016_claims(Written().read());
  const Json expected = golden()["claims"];
  REQUIRE(claims.size() == expected.size());
  for (std::size_t i = 0; i < claims.size(); ++i) {
    CHECK(claims[i].source == expected[i][0].get<std::string>());
    CHECK(claims[i].statement == expected[i][1].get<std::string>());
    CHECK(mark(claims[i].judgement.verdict) == expected[i][2].get<std::string>());
  }
}

TEST_CASE("curves have bands; what is missing is named") {
  Written written;
  written.report();
  const std::string page = written.file("ba2016.html");
  CHECK_THAT(written.file("ba2016_figure4_draw.csv"), Contains("layer deviation"));
  CHECK_THAT(written.file("ba2016_figure3_skip_thoughts.csv"), Contains("layer deviation"));
  CHECK_THAT(written.file("ba2016_figure6_error_4.csv"), Contains("batch deviation"));
  CHECK_FALSE(written.has("ba2016_figure2_reader.csv"));
  CHECK_THAT(page, Contains("Missing runs: draw layer_everywhere@0.001 seed 3."));
  for (const char* missing : {"Kanji: not run.", "Retrieval: bag_of_words not run.",
                              "MNIST, batches of 4: batch_hidden, batch_biased not run.",
                              "Figure 2, bAbI: validation error: not run."})
    CHECK_THAT(page, Contains(fmt::format("<p>{}</p>", missing)));
}

TEST_CASE("one figure can be had alone, and without seconds") {
  Written written;
  written.report(4, false);
  CHECK(written.has("ba2016_figure4_draw.csv"));
  CHECK_FALSE(written.has("ba2016_figure1_recall_1.csv"));
  CHECK_THAT(written.file("ba2016_table1.csv"), !Contains("Retrieval"));
  CHECK_THAT(written.file("ba2016_table5.csv"), Contains("updates") && !Contains("seconds"));
}

TEST_CASE("a run of Ba et al. on other data is refused by name") {
  Written written;
  Json other = golden()["ledger"]["draw"]["none@0.001"]["2"];
  other["data"] = "other images";
  written.keep("draw", "none@0.001", 2, other.dump());
  CHECK_THROWS_WITH(written.read(), Contains("ba2016/draw/none@0.001 seed 2: it was trained "
                                             "on other data: digest other images"));
}
