#include "tapegrad/nn/data/lines.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "support/scratch.h"
#include "tapegrad/core/error.h"

using namespace tapegrad;
using Catch::Contains;

namespace {

using Lines = std::vector<std::string>;

std::filesystem::path written(const testing::Scratch& folder, const std::string& name,
                              const std::string& contents) {
  std::ofstream(folder / name, std::ios::binary) << contents;
  return folder / name;
}

}  // namespace

TEST_CASE("lines end with LF or CR LF, and the last need not", "[text]") {
  const testing::Scratch folder;
  const auto lines = [&](const std::string& contents) {
    return read_lines(written(folder, "lines.txt", contents));
  };
  CHECK(lines("").empty());
  CHECK(lines("\n") == Lines{""});
  CHECK(lines("a b\n\n\xe9") == Lines{"a b", "", "\xe9"});
  CHECK(lines("\xef\xbb\xbf"
              "a\n\xef\xbb\xbf") == Lines{"a", "\xef\xbb\xbf"});  // only at first
  CHECK(lines("a\r\nb\r\r\nc\rd\r\n") == Lines{"a", "b\r", "c\rd"});
  CHECK_THROWS_AS(read_lines(folder / "none.txt"), DataError);
}

TEST_CASE("parallel lines need a counterpart each", "[text]") {
  const testing::Scratch folder;
  const auto two = written(folder, "two.de", "eins\r\nzwei\r\n");
  const auto both = read_parallel_lines(two, written(folder, "two.en", "one\ntwo"));
  CHECK(both.count() == 2);
  CHECK(both.source == Lines{"eins", "zwei"});
  CHECK(both.target == Lines{"one", "two"});
  const auto three = written(folder, "three.en", "one\ntwo\n\n");
  const auto refusal = "three.en: line 3 has no counterpart: ";
  CHECK_THROWS_WITH(read_parallel_lines(two, three),
                    Contains(refusal) && Contains("two.de ends after line 2"));
  CHECK_THROWS_WITH(read_parallel_lines(three, two),
                    Contains(refusal) && Contains("two.de ends after line 2"));
  const auto empty = written(folder, "empty.de", "");
  CHECK_THROWS_WITH(read_parallel_lines(empty, empty), Contains("empty.de: it has no lines"));
}
