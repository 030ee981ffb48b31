#include "experiments/report.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>

#include "experiments/registry.h"
#include "support/scratch.h"
#include "tapegrad/core/machine/instruction_set.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/output.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

// What `fill` reports, as a page, and the files beside it, after `before` has been done in the
// folder.
class Written {
 public:
  explicit Written(
      const std::function<void(Report&)>& fill,
      const std::function<void(const std::filesystem::path&)>& before = [](const auto&) {}) {
    before(folder_.path);
    silence_results();
    Flags flags("toys", "Toys.");
    std::uint64_t seed = 7;
    Index seeds = 3;
    flags.setting("--seed", seed, "First seed");
    flags.setting("--seeds", seeds, "Seeds");
    Report report;
    report.add_to(flags);
    std::string words[] = {"toys", "--report", folder_.path.string()};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data()};
    exit_code = flags.run(3, arguments, [&] {
      report.begin("toys", "Toys", "lab toys");
      fill(report);
      return report.finish();
    });
  }
  std::string file(const std::string& name) const {
    std::ifstream stream(folder_ / name);
    REQUIRE(stream);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  bool has(const std::string& name) const { return std::filesystem::exists(folder_ / name); }
  std::string page() const { return file("toys.html"); }
  std::string folder() const { return folder_.path.string(); }

  int exit_code = -1;

 private:
  Scratch folder_;
};

const Judgement supported{Verdict::supported, "+1"}, contradicted{Verdict::contradicted, "-1"},
    inconclusive{Verdict::inconclusive, "0"},
    unlearned{Verdict::not_learned, "no better than a guess"};

}  // namespace

TEST_CASE("the index links to the pages of experiments with their titles and headlines") {
  const registry::Entry entry([] { return registry::Experiment{"toys", "Toys.", nullptr}; });
  const Written toys([](Report& report) { report.claim("2 < 3", "2", true); });
  write_index(toys.folder());
  CHECK_THAT(toys.file("index.html"),
             Contains("<li><a href=\"toys.html\">Toys</a>: 1 of 1 claims hold</li>\n") &&
                 !Contains("tape_layer_norm"));
  std::ofstream(toys.folder() + "/toys.html") << "of the user";
  std::ofstream(toys.folder() + "/tape_layer_norm.html") << "a tape";
  write_index(toys.folder());
  CHECK_THAT(toys.file("index.html"),
             !Contains("toys.html") && Contains("<a href=\"tape_layer_norm.html\">The tape of"));
  std::ofstream(toys.folder() + "/index.html") << "of the user";
  CHECK_THROWS_WITH(write_index(toys.folder()), Contains("index.html: this program has not"));
}

TEST_CASE("a report replaces its own files alone, and follows no link") {
  const auto fill = [](Report& report) { report.table({"Toys", {"toy"}, {{"bear"}}}); };
  const auto write = [](const std::filesystem::path& file, const std::string& text) {
    std::ofstream(file) << text;
  };
  const Written first(fill);
  CHECK(first.exit_code == 0);
  const std::string page = first.page();
  for (const std::string name : {"toys.html", "toys_table1.csv", "toys_other.svg", "toys.csv"}) {
    INFO(name);
    const auto plant = [&](const std::filesystem::path& folder) {
      write(folder / name, "of the user");
    };
    const Written foreign(fill, plant);
    CHECK(foreign.exit_code == 1);
    CHECK(foreign.file(name) == "of the user");
    CHECK(!foreign.has(name == "toys.html" ? "toys_table1.csv" : "toys.html"));
    const auto link = [&](const std::filesystem::path& folder) {
      write(folder / "toys.html", page);
      write(folder / "foreign", page);
      std::filesystem::remove(folder / name);
      std::filesystem::create_symlink("foreign", folder / name);
    };
    const Written linked(fill, link);
    CHECK(linked.exit_code == 1);
    CHECK(linked.file("foreign") == page);
  }
  const Written again(fill, [&](const std::filesystem::path& folder) {
    write(folder / "toys.html", page);
    write(folder / "toys_table1.csv", "of an earlier report");
    write(folder / "other.csv", "of the user");
  });
  CHECK(again.exit_code == 0);
  CHECK(again.file("toys_table1.csv") == "toy\nbear\n");
  CHECK(again.file("other.csv") == "of the user");
  const Written before(
      [&](Report& report) {
        fill(report);
        report.file("toys_late.csv", "a,b\n");
      },
      [&](const std::filesystem::path& folder) { write(folder / "toys.html", ""); });
  CHECK(before.exit_code == 0);  // as mktemp leaves a file
}

TEST_CASE("the headline counts claims, and judged ones by source and value") {
  const Written written([](Report& report) {
    for (const bool holds : {true, true, false}) report.claim("Toys move.", "1", holds);
    for (const Judgement& judgement :
         {supported, contradicted, contradicted, inconclusive, inconclusive, inconclusive})
      report.judged({"table 1", "Toys fly.", "2", judgement});
    for (const Judgement& judgement : {supported, inconclusive})
      report.judged({"", "Toys sing.", "2", judgement});
  });
  CHECK_THAT(written.page(),
             Contains("<p class=\"headline\">2 of 3 claims hold; published: 1 supported, 2 "
                      "contradicted, 3 inconclusive at this scale; asked here: 1 supported, 1 "
                      "inconclusive at this scale</p>"));
  CHECK_THAT(written.page(), Contains("<b>published in table 1, supported</b>: Toys fly."));
  CHECK_THAT(written.page(), Contains("<b>asked here, supported</b>: Toys sing."));
  CHECK(written.exit_code == 1);
}

TEST_CASE("a published claim never makes a program fail") {
  const Written written([](Report& report) {
    report.claim("Toys move.", "1", true);
    report.judged({"table 1", "Toys fly.", "2", contradicted});
    report.judged({"", "Toys sing.", "2", contradicted});
  });
  CHECK(written.exit_code == 0);
}

TEST_CASE("a headline names published claims only if there are some") {
  const Written none([](Report& report) { report.claim("Toys move.", "1", true); });
  CHECK_THAT(none.page(), Contains("<p class=\"headline\">1 of 1 claims hold</p>"));
  const Written not_judged([](Report& report) {
    report.judged({"table 1", "Toys fly.", "2", unlearned});
    report.judged({"table 1", "Toys fly.", "2", {Verdict::at_edge, "the rate of toys"}});
  });
  CHECK_THAT(not_judged.page(),
             Contains("<p class=\"headline\">0 of 0 claims hold; published: 1 not learned at this "
                      "size, 1 at an edge of the rates</p>"));
}

TEST_CASE("a page lists the verdicts that remain among so many") {
  const Written written([](Report& report) {
    for (const double p : {0.04, 0.001, 0.02, 0.3})
      report.judged({"table 1", "Toys fly.", "2", {Verdict::supported, "+1", p}});
    report.judged({"table 1", "Toys sing.", "2", supported});
  });
  CHECK_THAT(written.page(), Contains("Measured: 2; +1, p 0.04<"));
  CHECK_THAT(
      written.page(),
      Contains("Of 4 claims with a p, 3 have one of 0.05 or less; at a false discovery rate of 5 % "
               "(Benjamini and Hochberg), 2 remain, those with a p of 0.02 or less."));
}

TEST_CASE("texts keep their lines, and a page may claim nothing") {
  const Written written([](Report& report) { report.texts("Samples", {{"a", "1 < 2\n  3"}}); });
  CHECK_THAT(written.page(), Contains("<p class=\"headline\">Measurements without claims</p>"));
  CHECK_THAT(written.page(), Contains("<h3>a</h3><pre>1 &lt; 2\n  3</pre>"));
  CHECK(written.exit_code == 0);
}

TEST_CASE("what follows a line break in a cell is below it on the page, and behind it in a file") {
  const Written written([](Report& report) {
    report.table({"Toys", {"toy", "weight"}, {{"bear", "3 < 4\n5 & 6\nkg"}}});
  });
  CHECK_THAT(written.page(), Contains("<td>3 &lt; 4<br><small>5 &amp; 6<br>kg</small></td>"));
  CHECK(written.file("toys_table1.csv") == "toy,weight\nbear,3 < 4 / 5 & 6 / kg\n");
}

TEST_CASE("the footer shows how a page was made and what claims tolerate") {
  const Written written([](Report& report) {
    report.claim("Toys move.", "1e-12", true, "below 1e-9");
    report.claim("Toys are as many as children.", "7", true);
  });
  const std::string page = written.page(), footer = page.substr(page.find("<footer>"));
  CHECK_THAT(footer, Contains("<p>Made by <code>lab toys</code></p>"));
  CHECK_THAT(footer, Contains("<p>Seeds: 7 to 9</p>"));
  CHECK_THAT(footer, Contains("<p>Version: tapegrad " TAPEGRAD_VERSION));
  CHECK_THAT(footer, Contains(" processors, " + instruction_set() + "</p>"));
  CHECK_THAT(footer, Contains("<ol>\n<li>below 1e-9</li>\n<li>none</li>\n</ol>"));
  CHECK_THAT(page, Contains("<b>Claim 2 holds</b>: Toys are as many"));
}

TEST_CASE("a figure has forms for pages and phones, and a caption") {
  Diagram diagram{"Speed", "toys", "km/h", {{"plain", {{0, 1}, {1, 3}}, {1, 1}}}};
  diagram.caption = "More toys < more speed.";
  const Written written([&](Report& report) { report.figure("speed", diagram); });
  const std::string page = written.page();
  CHECK_THAT(page, Contains("<div class=\"page\">\n" + svg({diagram}) + "</div>"));
  CHECK_THAT(page, Contains("<div class=\"phone\">\n" + svg({diagram}, Medium::phone) + "</div>"));
  CHECK_THAT(page, Contains("<figcaption>More toys &lt; more speed.</figcaption>"));
  CHECK(written.file("toys_speed.svg") == svg({diagram}));
  CHECK(written.file("toys_speed.csv") == "toys,plain,plain deviation\n0,1,1\n1,3,1\n");
}

TEST_CASE("a figure without a caption has no empty one") {
  const Diagram diagram{"Speed", "toys", "km/h", {{"plain", {{0, 1}, {1, 3}}}}};
  const Written written([&](Report& report) { report.figure("speed", diagram); });
  CHECK_THAT(written.page(), Contains("<figure>") && !Contains("<figcaption>"));
}

TEST_CASE("a heat map is a figure, and its values are a file") {
  const HeatMap map{.title = "Toys",
                    .rows = {"cars", "boats"},
                    .columns = {"on land", "on water"},
                    .values = {{1, -INFINITY}, {0.25, 2}},
                    .unit = "speed",
                    .caption = "Boats swim."};
  const Written written([&](Report& report) { report.heat_map("places", map); });
  CHECK_THAT(written.page(), Contains("<div class=\"page\">\n" + svg(map) + "</div>") &&
                                 Contains("<figcaption>Boats swim.</figcaption>"));
  CHECK(written.file("toys_places.svg") == svg(map));
  CHECK(written.file("toys_places.csv") == "speed,on land,on water\ncars,1,-inf\nboats,0.25,2\n");
}

TEST_CASE("the picture for a talk is a figure of the page, and a slide beside it") {
  const Diagram diagram{"Speed", "toys", "km/h", {{"plain", {{0, 1}, {1, 3}}}}};
  const Written written([&](Report& report) {
    report.figure("speed", diagram, Talk::yes);
    report.figure("other", diagram);
  });
  CHECK_THAT(written.page(), Contains("<div class=\"page\">\n" + svg({diagram}) + "</div>"));
  CHECK(written.file("toys_speed.svg") == svg({diagram}));
  CHECK(written.file("toys_speed.talk.svg") == svg({diagram}, Medium::slide));
  CHECK_FALSE(written.has("toys_other.talk.svg"));
}
