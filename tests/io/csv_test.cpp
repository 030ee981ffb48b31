#include "tapegrad/io/csv.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>

#include "support/files.h"
#include "support/scratch.h"
#include "support/sections.h"
#include "tapegrad/core/error.h"
#include "tapegrad/io/file.h"

using namespace tapegrad;
using Catch::Contains;

namespace {

CsvTable read_table(const std::string& text, const CsvOptions& options = {}) {
  const testing::Scratch folder;
  std::ofstream(folder / "x.csv", std::ios::binary) << text;
  return read_csv(folder / "x.csv", options);
}

std::vector<real> table_values(const CsvTable& table) {
  return {table.values.values().begin(), table.values.values().end()};
}

const CsvOptions with_header{.header = true};

}  // namespace

TEST_CASE("a table of numbers is read, with and without names", "[data][files]") {
  for (const char* text :
       {"1,-2.5\n3e2,.5\n", "1,-2.5\n3e2,.5", "1,-2.5\r\n3e2,.5\r\n", " 1 ,\t-2.5\n300,0.5 \n",
        "\"1\",-2.5\n\"300\",\" 0.5\"\n", "\xef\xbb\xbf\"1\",-2.5\n300,0.5\n"}) {
    INFO(text);
    const CsvTable table = read_table(text);
    CHECK(table.values.shape() == Shape{2, 2});
    CHECK(table_values(table) == std::vector<real>{1, -2.5, 300, 0.5});
    CHECK(table.names.empty());
  }
  const CsvTable named = read_table("a,\"b, \"\"c\"\"\r\n\",\n1,2,3\n", with_header);
  CHECK(named.names == std::vector<std::string>{"a", "b, \"c\"\r\n", ""});
  CHECK(named.values.shape() == Shape{1, 3});
  CHECK(read_table("a,b\n", with_header).values.shape() == Shape{0, 2});
  CHECK(table_values(read_table("1;2\n", {.separator = ';'})) == std::vector<real>{1, 2});
  CHECK(read_table("7").values.shape() == Shape{1, 1});
}

TEST_CASE("a long table is read by several threads", "[data][files][threads]") {
  const testing::Scratch folder;
  constexpr Index rows = 250'000;
  const auto written = [&](const std::string& header, Index changed, const std::string& line) {
    std::string text = header;
    for (Index i = 0; i < rows; ++i)
      text += i == changed ? line : fmt::format("{},-{}.5\r\n", i, i);
    std::ofstream(folder / "x.csv", std::ios::binary) << text;
    return folder / "x.csv";
  };
  const auto checked = [&](const CsvTable& table) {
    CHECK(table.values.shape() == Shape{rows, 2});
    Index wrong = 0;
    for (Index i = 0; i < rows; ++i)
      wrong += table.values.data()[2 * i] != static_cast<real>(i) ||
               table.values.data()[2 * i + 1] != -static_cast<real>(i) - real{0.5};
    CHECK(wrong == 0);
  };
  const auto path = written("", -1, "");
  CHECK(testing::sections_of([&] { read_csv(path); }) == std::vector<Index>{5});
  checked(read_csv(path));
  checked(read_csv(written("\xef\xbb\xbf\"a\n\",b\n", -1, ""), with_header));
  checked(read_csv(written("", 200'000, "200000,\"-200000.5\"\n")));

  const auto refused = [&](const std::string& line, const std::string& message) {
    CHECK_THROWS_WITH(read_csv(written("", 200'000, line)), Contains("line 200001" + message));
    CHECK_THROWS_WITH(read_csv(written("\"a\n\",b\n", 200'000, line), with_header),
                      Contains("line 200003" + message));
  };
  refused("1,\xef\xbb\xbf\n", ": field 2 is not a number");
  refused("\n", ": field 1 is empty");
  refused("1,2,3\n", " has 3 fields, not 2");
  CHECK_THROWS_WITH(read_csv(written("1\n", -1, "")), Contains("line 2 has 2 fields, not 1"));
  CHECK_THROWS_WITH(read_csv(written("1,2,3\n", 200'000, "x")), Contains("line 2 has 2 fields"));
}

TEST_CASE("numbers that are not finite are read where they are spelled out", "[data][files]") {
  const std::vector<real> values = table_values(read_table("nan,NaN,inf,-inf,Infinity"));
  CHECK((std::isnan(values[0]) && std::isnan(values[1])));
  CHECK(values[2] == std::numeric_limits<real>::infinity());
  CHECK(values[3] == -values[2]);
  CHECK(values[4] == values[2]);
}

TEST_CASE("what is no table of numbers is refused by file and line", "[data][files]") {
  const auto refused = [](const std::string& text, const std::string& message,
                          const CsvOptions& options = {}) {
    INFO(text);
    CHECK_THROWS_AS(read_table(text, options), DataError);
    CHECK_THROWS_WITH(read_table(text, options), Contains("x.csv: ") && Contains(message));
  };
  refused("", "it has no lines");
  refused("\xef\xbb\xbf", "it has no lines");
  refused("1,2\n3\n", "line 2 has 1 fields, not 2");
  refused("1,2\n3,4,5\n", "line 2 has 3 fields, not 2");
  refused("a,b\n1\n", "line 2 has 1 fields, not 2", with_header);
  refused("\"a\n\",b\n1\n", "line 3 has 1 fields, not 2", with_header);
  refused("a,b\n1,2\n", "line 1: field 1 is not a number: \"a\"; if it is the name of");
  refused("1,2\n+-3,4\n", "line 2: field 1 is not a number");
  for (const char* text : {"1,++2\n", "1,+\n", "1,0x1\n", "1,2 3\n", "1,2\r", "1,nan(2)\n",
                           "1,na\n", "1,-\n", "1,1e\n", "1,1\"2\"\n"})
    refused(text, "line 1: field 2 is not a number");
  for (const char* text : {"1,\n", ",1\n", "1, \n", "1,\"\"\n", "1,2\n\n3,4\n"})
    refused(text, " is empty; set `missing` to read it as NaN");
  refused("1,2\n3,\n", "line 2: field 2 is empty");
  refused("1,2\n3,red\n", "\"red\"; if its column is one of text, name it in `words`");
  refused("a\n1\n", "its header has no column b", {.header = true, .words = {{"b", {}}}});
  refused("1\n", "its header has no column b", {.words = {{"b", {}}}});
  refused("a\nx\n", "line 2: x is none of the 2 words of column a",
          {.header = true, .words = {{"a", {"y", "z"}}}});
  refused("1,2\n1e999,2\n", "line 2: field 1 is a number out of range: 1e999");
  if (sizeof(real) == 4) refused("1e300", "line 1: field 1 is a number out of range: 1e300");
  refused("1,\"2\n", "line 1 has a quoted field without an end");
  refused("1,\"2\"3\n", "line 1 has characters after a quoted field");
  refused("1,\"2\"\r3\n", "line 1 has characters after a quoted field");
  refused(std::string(100000, 'x'), "\"" + std::string(100, 'x') + "...\"");
  refused("\x1b[2J", "\"?[2J\"");
  CHECK_THROWS_AS(read_csv("missing.csv"), DataError);
  for (const char separator : {'"', '\n', '\r'})
    CHECK_THROWS_AS(read_table("1,2", {.separator = separator}), ArgumentError);
}

TEST_CASE("signs, tiny numbers and blank lines at the end are read", "[data][files]") {
  for (const char* text : {"+1,1e-400\n", "1,-0.0\n\n\n", "1,0\r\n\r\n"}) {
    INFO(text);
    const CsvTable table = read_table(text);
    CHECK(table.values.shape() == Shape{1, 2});
    CHECK(table_values(table) == std::vector<real>{1, 0});
  }
  CHECK(read_table("7\n\n").values.shape() == Shape{1, 1});
}

TEST_CASE("empty fields are NaN where they may be missing", "[data][files]") {
  const std::vector<real> values = table_values(read_table("1,,3\n,\"\",6\n", {.missing = true}));
  for (const std::size_t i : {1, 3, 4}) CHECK(std::isnan(values[i]));
  CHECK(values[0] + values[2] + values[5] == 10);
}

TEST_CASE("columns of text are the numbers of their words", "[data][files]") {
  const std::string text = "color,n\nred,1\n\"blue, dark\",2\n red ,3\n,4\n";
  const CsvTable table = read_table(text, {.header = true, .words = {{"color", {}}}});
  CHECK(table_values(table) == std::vector<real>{0, 1, 1, 2, 0, 3, 2, 4});
  const CsvWords words{{"color", {"red", "blue, dark", ""}}};
  CHECK(table.words == words);
  const CsvTable other = read_table("n,color\n7,\n8,red\n", {.header = true, .words = words});
  CHECK(table_values(other) == std::vector<real>{7, 2, 8, 0});
  CHECK(other.words == words);
}

TEST_CASE("a gzipped table is read", "[data][files]") {
  const testing::Scratch folder;
  const std::string text = "1,2\n";
  const auto bytes = std::as_bytes(std::span(text));
  write_file(folder / "x.csv.gz", testing::gzipped({bytes.begin(), bytes.end()}));
  CHECK(table_values(read_csv(folder / "x.csv.gz")) == std::vector<real>{1, 2});
}

TEST_CASE("cells of a CSV file are quoted where they need it", "[data][files]") {
  const auto line = [](const std::vector<std::string>& cells) { return csv_line(cells); };
  CHECK(line({"step", "loss", "-1.5e-05"}) == "step,loss,-1.5e-05\n");
  CHECK(line({"", "a", ""}) == ",a,\n");
  CHECK(line({""}) == "\n");
  CHECK(line({"a,b", "say \"c\"", "d\ne", "f\r"}) ==
        "\"a,b\",\"say \"\"c\"\"\",\"d\ne\",\"f\r\"\n");
}
