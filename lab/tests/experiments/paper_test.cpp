#include "experiments/paper.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tapegrad/core/error.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using Catch::Contains;

namespace {

const std::string toys = R"({
  "name": "toys", "systems": ["none", "layer"],
  "kinds": {"words": {"of_paper": "W", "unit": "%", "loss": "nats", "decimals": 1, "metric": {"worst": 100},
                      "baseline": "guess"}},
  "beside": {"forms": {"systems": ["other"], "claims": [{"a": "other", "b": "layer", "level": true},
                                                         {"a": "layer", "b": "none"}]}},
  "tasks": [
    {"name": "first", "kind": "words", "title": "First", "published_decimals": 2,
     "published": {"layer": 2.5, "none": "diverged"},
     "claims": [{"a": "layer", "b": "none", "source": "table 1", "margin": 3}], "forms": 0.5},
    {"name": "second", "kind": "words", "title": "Second", "unit": "bits", "systems": ["layer"],
     "metric": {"higher_is_better": true, "worst": 0, "of_items": true, "baseline": 7}}],
  "tables": [{"number": 4, "title": "T", "differences": [["layer", "none"]],
              "rows": [{"system": "none", "name": "N", "published": ["-", "1"]}]}],
  "figures": [{"number": 2, "title": "F", "tasks": ["second", "first"], "axes": "steps",
               "curves": [{"name": "c", "title": "C", "unit": "u"},
                          {"task": "first", "name": "d", "title": "D", "unit": "u", "trace": "t", "axes": "x"}]}]})";

std::string with(std::string text, const std::string& old, const std::string& by) {
  const std::size_t at = text.find(old);
  REQUIRE(at != std::string::npos);
  return text.replace(at, old.size(), by);
}

}  // namespace

TEST_CASE("a paper is read from its file") {
  const Paper paper = read_paper(toys);
  REQUIRE(paper.tasks.size() == 2);
  const PaperTask &first = paper.task("first"), &second = paper.task("second");
  CHECK(first.unit == "%");
  CHECK(first.metric.worst == 100);
  CHECK_FALSE(first.metric.higher_is_better);
  CHECK(first.systems == std::vector<std::string>{"none", "layer"});
  CHECK(std::isinf(first.published_of("none")));
  CHECK(first.published_of("layer") == 2.5);
  CHECK(first.baseline == "guess");
  CHECK(first.forms == std::vector<std::string>{"other"});
  REQUIRE(first.claims.size() == 3);
  CHECK(first.claims[0].source == "table 1");
  CHECK(first.claims[0].margin == 3.0);
  CHECK(first.claims[1].margin == 0.5);
  CHECK_FALSE(first.claims[2].margin.has_value());
  CHECK(second.unit == "bits");
  CHECK(second.metric.baseline == 7.0);
  CHECK(second.metric.of_items);
  CHECK(second.systems == std::vector<std::string>{"layer"});
  CHECK(second.published.empty());
  CHECK(second.claims.empty());

  const PaperTable& table = paper.table(4);
  CHECK(table.differences.at(0).b == "none");
  CHECK(table.rows.at(0).state == "test");
  CHECK(table.rows.at(0).published == std::vector<std::string>{"-", "1"});
  const std::vector<PaperCurve>& curves = paper.figures.at(0).curves;
  REQUIRE(curves.size() == 2);
  CHECK(curves[0].task == "second");
  CHECK(curves[0].trace == "c");
  CHECK(curves[0].axes == "steps");
  CHECK(curves[1].task == "first");
  CHECK(curves[1].trace == "t");
  CHECK(curves[1].axes == "x");
}

TEST_CASE("what is no paper is refused") {
  CHECK_THROWS_WITH(read_paper("{"), Contains("read_paper: it is no paper"));
  CHECK_THROWS_AS(read_paper(with(toys, R"("title": "First", )", "")), ArgumentError);
  CHECK_THROWS_AS(read_paper(with(toys, R"("kind": "words")", R"("kind": "sounds")")),
                  ArgumentError);
  CHECK_THROWS_AS(read_paper(with(toys, R"("layer": 2.5, )", "")), ArgumentError);
  CHECK_THROWS_WITH(read_paper(toys).task("third"), Contains("third: it is not a task"));
  CHECK_THROWS_WITH(read_paper(toys).table(5), Contains("table 5: it is not of the paper toys"));
}

TEST_CASE("the program has the papers") {
  // Xu et al. 2019, tables 1 and 2; Ba et al. 2016, table 2
  CHECK(xu2019().task("rt").published_of("layer") == 77.21);
  CHECK(std::isinf(xu2019().task("en_de").published_of("detach")));
  CHECK(names_of(xu2019()).size() == 9);  // one of ten has no data
  CHECK(xu2019().tables.size() == 4);
  CHECK(ba2016().table(2).rows.at(2).published.at(0) == "48.5");
  CHECK(ba2016().tasks.size() == 9);
  CHECK(ba2016().figures.size() == 6);
}
