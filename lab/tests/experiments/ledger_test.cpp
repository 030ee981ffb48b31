#include "experiments/ledger.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "experiments/provenance.h"
#include "support/scratch.h"
#include "tapegrad/core/error.h"
#include "tapegrad/io/file.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using Catch::Contains;

namespace {

const Json configuration = {{"steps", 20}, {"rate", 0.002}, {"hidden", {4, 5}}};

const Outcome found{.curve = {{1, 2.5}, {2, 1.0 / 3, 0.1}, {3, NAN, NAN}},
                    .values = {{"loss", 0.1}, {"test", NAN}},
                    .items = {1, 0, NAN},
                    .traces = {{"ratio", {{1, 0.5}, {10, NAN}}}, {"none", {}}}};

/// A ledger as a program sets it up.
Ledger ledger(const std::string& runs, const std::string& data = "the data") {
  Ledger ledger;
  Flags flags("lab", "");
  ledger.add_to(flags);
  std::string words[] = {"lab", "--runs=" + runs};
  char* argv[] = {words[0].data(), words[1].data()};
  flags.run(2, argv, [] { return 0; });
  ledger.begin("experiment", data);
  return ledger;
}

// While it lives, the program is one that was built from this commit.
class BuiltFrom {
 public:
  explicit BuiltFrom(const char* commit) { setenv("TAPEGRAD_COMMIT", commit, 1); }
  BuiltFrom(const BuiltFrom&) = delete;
  BuiltFrom& operator=(const BuiltFrom&) = delete;
  ~BuiltFrom() { setenv("TAPEGRAD_COMMIT", "test", 1); }
};

// Tests keep runs of whatever was built.
[[maybe_unused]] const BuiltFrom any_build("test");

Outcome never() { throw std::logic_error("a run is repeated"); }

}  // namespace

TEST_CASE("a run that the ledger has is not repeated") {
  const testing::Scratch folder;
  const std::string runs = folder / "runs";
  const Outcome first =
      ledger(runs).outcome("ada:c=1,k=0.1", 7, configuration, [] { return found; });
  const Outcome again = ledger(runs).outcome("ada:c=1,k=0.1", 7, configuration, never);
  CHECK(again.curve == found.curve);
  CHECK(again.values.at("loss") == 0.1);
  CHECK(std::isnan(again.values.at("test")));
  REQUIRE(again.items.size() == 3);
  CHECK(again.items[0] == 1);
  CHECK(std::isnan(again.items[2]));
  CHECK(again.traces.at("ratio")[0] == std::pair<Index, double>(1, 0.5));
  CHECK(std::isnan(again.traces.at("ratio").at(1).second));
  CHECK(again.seconds == first.seconds);
  RunFile file(folder / "runs/experiment.jsonl.gz");
  const PackedRun* run = file.runs().latest({"experiment/ada:c=1,k=0.1", 7});
  REQUIRE(run != nullptr);
  const Record record = read_record(run->record, run->source);
  CHECK(record.version == TAPEGRAD_VERSION);
  CHECK(record.provenance["machine"] == machine());
  for (const char* part : {"commit", "compiler", "threads"})
    CHECK(record.provenance.contains(part));

  for (const auto& [system, seed] : {std::pair{"ada:c=1,k=0.1", 8}, {"layer", 7}}) {
    bool trained = false;
    ledger(runs).outcome(system, seed, configuration, [&] {
      trained = true;
      return found;
    });
    CHECK(trained);
  }
}

TEST_CASE("a run is not trained unless its record can name the commit") {
  const testing::Scratch folder;
  const std::string runs = folder / "runs";
  const auto keep = [&](const char* commit, const std::function<Outcome()>& train) {
    const BuiltFrom built(commit);
    ledger(runs).outcome("layer", 7, configuration, train);
  };
  CHECK_THROWS_WITH(keep("1234567-dirty", never),
                    Contains("with changes to commit 1234567-dirty") && Contains("commit all"));
  CHECK_THROWS_WITH(keep("", never), Contains("outside a repository"));
  CHECK_FALSE(std::filesystem::exists(runs));
  keep("1234567", [] { return found; });
  RunFile file(folder / "runs/experiment.jsonl.gz");
  const PackedRun* run = file.runs().latest({"experiment/layer", 7});
  REQUIRE(run != nullptr);
  CHECK(read_record(run->record, run->source).provenance["commit"] == "1234567");
  keep("1234567-dirty", never);  // it reads what is there
}

TEST_CASE("a ledger has the runs that have been kept") {
  const testing::Scratch folder;
  CHECK_FALSE(ledger(folder.path).has("layer", 1));
  ledger(folder.path).outcome("layer", 1, configuration, [] { return found; });
  CHECK(ledger(folder.path).has("layer", 1));
  CHECK_FALSE(ledger(folder.path).has("layer", 2));
  CHECK_FALSE(ledger(folder.path).has("batch", 1));
  CHECK_FALSE(Ledger().has("layer", 1));
}

TEST_CASE("a ledger lists all runs of its experiment") {
  const testing::Scratch folder;
  CHECK(ledger(folder.path).records().empty());
  CHECK(Ledger().records().empty());
  for (const auto& [system, seed] : {std::pair{"layer", 1}, {"layer", 20}, {"ada:c=2@0.1", 3}})
    ledger(folder.path).outcome(system, static_cast<std::uint64_t>(seed), configuration, [] {
      return found;
    });
  Ledger other = ledger(folder.path);
  other.begin("experiment2", "others");
  other.outcome("layer", 1, configuration, [] { return found; });
  const Records records = ledger(folder.path, "").records();
  REQUIRE(records.size() == 2);
  CHECK(records.at("layer").size() == 2);
  CHECK(records.at("layer").at(20).outcome.curve == found.curve);
  CHECK(records.at("ada:c=2@0.1").at(3).data == "the data");
  CHECK_THROWS_WITH(ledger(folder.path, "others").records(),
                    Contains("experiment.jsonl.gz: line 1: experiment/ada:c=2@0.1 seed 3: ") &&
                        Contains("digest the data, not others"));
  RunFile(folder / "experiment.jsonl.gz").add({"experiment/layer", 7}, "{}");
  CHECK_THROWS_WITH(ledger(folder.path).records(), Contains("line 3: experiment/layer seed 7: "));
}

TEST_CASE("of several tasks of a study a ledger has its own runs") {
  const testing::Scratch folder;
  Ledger tasks = ledger(folder.path);
  for (const char* task : {"study/a", "study/ab"}) {
    tasks.begin(task, task);
    CHECK_FALSE(tasks.has("layer", 1));
    tasks.outcome("layer", 1, configuration, [] { return found; });
  }
  CHECK(entries_of(folder.path).size() == 1);
  tasks.begin("study/a", "");
  REQUIRE(tasks.records().size() == 1);
  CHECK(tasks.records().at("layer").at(1).data == "study/a");
}

TEST_CASE("of several repeats of a run the last one counts") {
  const testing::Scratch folder;
  RunFile file(folder / "experiment.jsonl.gz");
  for (const double loss : {1., 2., 3.})
    file.add({"experiment/layer", 1},
             to_string({configuration, "the data", "1", {.values = {{"loss", loss}}}}));
  CHECK(ledger(folder.path).outcome("layer", 1, configuration, never).values.at("loss") == 3);
  CHECK(ledger(folder.path).records().at("layer").at(1).outcome.values.at("loss") == 3);
}

TEST_CASE("runs in files of their own, of an older version, are not trained again unseen") {
  const testing::Scratch folder;
  std::filesystem::create_directories(folder / "experiment/layer");
  CHECK_NOTHROW(ledger(folder.path));
  std::ofstream(folder / "experiment/layer/seed_1.json") << "{}";
  CHECK_THROWS_WITH(ledger(folder.path),
                    Contains((folder / "experiment").string()) && Contains("an older version"));
}

TEST_CASE("what a claim needs and a record lacks is refused by its name") {
  const std::string source = "toys.jsonl.gz: line 3: toys/layer seed 1";
  const auto read_again = [&](const Outcome& outcome) {
    const std::string text = to_string({configuration, "the data", "0.1.0", outcome});
    // The outcome arrives as it comes from another process.
    return from_bytes(to_bytes(read_record(text, source).outcome));
  };
  const Outcome whole = read_again(found), empty = read_again({});
  CHECK(value_of(whole, "loss") == 0.1);
  CHECK(trace_of(whole, "ratio").size() == 2);
  CHECK(first_point(whole).training == 2.5);
  CHECK(last_point(whole).step == 3);
  const auto refusal = [&](const std::string& lack) {
    return Catch::Equals(source + ": " + lack + "; remove the line, and the run is repeated");
  };
  CHECK_THROWS_WITH(value_of(empty, "loss"), refusal("its values have no \"loss\""));
  CHECK_THROWS_WITH(trace_of(empty, "ratio"), refusal("its traces have no points of \"ratio\""));
  CHECK_THROWS_WITH(trace_of(whole, "none"), refusal("its traces have no points of \"none\""));
  CHECK_THROWS_WITH(first_point(empty), refusal("its curve has no points"));
  CHECK_THROWS_WITH(last_point(empty), refusal("its curve has no points"));
}

TEST_CASE("rates that were tried and seeds that were tested are kept") {
  const Outcome cell{.values = {{"test_images", 60}},
                     .tried = {{1.0 / 3, NAN}, {1e-3, 2.5}},
                     .tested = {{7, 1.5}, {18446744073709551615u, 2}}};
  const auto again = [](const Outcome& read) {
    CHECK(read.tried.at(1e-3) == 2.5);
    CHECK(std::isnan(read.tried.at(1.0 / 3)));
    CHECK(read.tested == std::map<std::uint64_t, double>{{7, 1.5}, {18446744073709551615u, 2}});
  };
  const std::string text = to_string({configuration, "the data", "0.1.0", cell});
  again(read_record(text, "a run").outcome);
  again(from_bytes(to_bytes(cell)));
  for (const std::string part : {R"("tried":[[0.001]])", R"("tried":[["0.001",1]])",
                                 R"("tested":[[-1,1]])", R"("tested":[[1.5,1]])"}) {
    const std::string damaged = text.substr(0, text.find(R"(,"tried")")) + "," + part + "}";
    CHECK_THROWS_WITH(read_record(damaged, "a run"), Contains("is missing or damaged"));
  }
  CHECK(to_string({configuration, "the data", "0.1.0", found}).find("tried") == std::string::npos);
}

TEST_CASE("records of older versions name the rates that were tried, and have seeds for steps") {
  const Outcome read = read_record(R"({"configuration": {}, "data": "", "version": "0.1.0",
      "seconds": 1, "values": {"validation at the rate 0.000333333": 2.5,
      "validation at the rate 1e-05": null, "test_images": 60}, "curve": [], "items": [],
      "traces": {"test": [[1, 3.5], [2, null]]}})",
                                   "a run")
                           .outcome;
  CHECK(read.tried.size() == 2);
  CHECK(read.tried.at(0.000333333) == 2.5);
  CHECK(std::isnan(read.tried.at(1e-5)));
  CHECK(read.tested.at(1) == 3.5);
  CHECK(std::isnan(read.tested.at(2)));
  CHECK(read.values == std::map<std::string, double>{{"test_images", 60}});
  CHECK(read.traces.empty());
}

TEST_CASE("as bytes an outcome keeps every number") {
  Outcome sent = found;
  sent.seconds = 0.1;
  sent.values["greatest"] = INFINITY;
  sent.curve.push_back({4, -INFINITY});
  const Outcome got = from_bytes(to_bytes(sent));
  CHECK(got.curve == sent.curve);
  CHECK(got.seconds == sent.seconds);
  CHECK(got.values.at("loss") == 0.1);
  CHECK(got.values.at("greatest") == INFINITY);
  CHECK(std::isnan(got.values.at("test")));
  CHECK(std::vector(got.items.begin(), got.items.end() - 1) == std::vector<double>{1, 0});
  CHECK(std::isnan(got.items.back()));
  CHECK(got.traces.at("ratio")[0] == std::pair<Index, double>(1, 0.5));
  CHECK(from_bytes(to_bytes({})).items.empty());
}

TEST_CASE("without --runs nothing is kept") {
  int trained = 0;
  Ledger none;
  none.begin("experiment", "the data");
  for (int i = 0; i < 2; ++i)
    none.outcome("layer", 1, configuration, [&] {
      ++trained;
      return found;
    });
  CHECK(trained == 2);
}

TEST_CASE("a run of another configuration or on other data is refused by name") {
  const testing::Scratch folder;
  ledger(folder.path).outcome("layer", 1, configuration, [] { return found; });
  Json other = configuration;
  other["rate"] = 0.001;
  CHECK_THROWS_WITH(
      ledger(folder.path).outcome("layer", 1, other, never),
      Contains("experiment/layer seed 1: ") &&
          Contains("another configuration: rate 0.002, not 0.001; choose another --runs"));
  other = configuration;
  other["norm"] = "rms";
  CHECK_THROWS_WITH(ledger(folder.path).outcome("layer", 1, other, never),
                    Contains("norm nothing, not \"rms\""));
  CHECK_THROWS_WITH(ledger(folder.path, "others").outcome("layer", 1, configuration, never),
                    Contains("layer seed 1: ") && Contains("digest the data, not others"));
}

TEST_CASE("a system whose name could be a task's is refused") {
  const testing::Scratch folder;
  for (const char* name : {"", "a/b", "/tmp"})
    CHECK_THROWS_WITH(ledger(folder.path).outcome(name, 1, configuration, never),
                      Contains("is empty or has a slash"));
}

TEST_CASE("a run that throws leaves nothing in the ledger") {
  const testing::Scratch folder;
  CHECK_THROWS(ledger(folder.path).outcome("layer", 1, configuration, never));
  CHECK_NOTHROW(ledger(folder.path).outcome("layer", 1, configuration, [] { return found; }));
}

TEST_CASE("a damaged record is refused, naming its source and what is damaged") {
  const std::string source = "toys.jsonl.gz: line 3: toys/layer seed 1";
  const std::string good = to_string({configuration, "the data", "0.1.0", found});
  const auto refusal = [&](const std::string& text) {
    try {
      read_record(text, source);
      return std::string();
    } catch (const DataError& error) {
      CHECK_THAT(error.what(), Contains(source));
      return std::string(error.what());
    }
  };
  CHECK(refusal(good).empty());
  for (const std::string& each :
       {std::string(), good.substr(0, good.size() / 2), std::string("[]"), std::string("3"),
        std::string(100000, '['), "{\"curve\":" + std::string(100000, '['),
        "{\"seconds\":1," + good.substr(1)})
    CHECK_THAT(refusal(each), Contains("it is not a run of the laboratory; remove the line"));
  for (const auto& [part, values] : std::map<std::string, std::vector<Json>>{
           {"configuration", {1, Json::array()}},
           {"data", {1}},
           {"version", {nullptr}},
           {"provenance", {1, Json::array({"x"}), {{"commit", 1}}}},
           {"seconds", {"1", nullptr}},
           {"values",
            {Json::array(), {{"loss", "x"}}, {{"loss", Json::array()}}, {{"loss", 1e300}}}},
           {"curve",
            {1,
             {1},
             {{1}},
             {{1, 2, 3, 4}},
             {{-1, 2}},
             {{0.5, 2}},
             {{1, "x"}},
             {{1ull << 63, 2}},
             {{1, -1e300}},
             {{2, 1}, {1, 1}},
             {{1, 1}, {1, 1}}}},
           {"items", {1, {"x"}, {1e300}}},
           {"traces",
            {1,
             {{"ratio", 1}},
             {{"ratio", {1}}},
             {{"ratio", {{1, 2, 3}}}},
             {{"ratio", {{2, 1}, {2, 1}}}}}}}) {
    Json file = Json::parse(good);
    for (const Json& value : values) {
      file[part] = value;
      CHECK_THAT(refusal(file.dump()), Contains("its " + part + " is missing or damaged"));
    }
    file.erase(part);
    if (part == "provenance")  // files of the first versions have none
      CHECK(refusal(file.dump()).empty());
    else
      CHECK_THAT(refusal(file.dump()), Contains("its " + part + " is missing or damaged"));
  }
}
