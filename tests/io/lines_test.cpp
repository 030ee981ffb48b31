#include "tapegrad/io/lines.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "support/files.h"
#include "support/scratch.h"
#include "tapegrad/core/error.h"
#include "tapegrad/io/conllu.h"
#include "tapegrad/io/csv.h"
#include "tapegrad/io/sentences.h"

using namespace tapegrad;
using namespace tapegrad::testing;
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

TEST_CASE("lines are read one after another", "[text]") {
  const testing::Scratch folder;
  LineReader lines(written(folder, "lines.txt", "a b\r\n\n c"));
  CHECK(lines.number() == 0);
  const auto first = lines.next(), second = lines.next(), third = lines.next();
  CHECK(first == "a b");
  CHECK(second == "");
  CHECK(third == " c");
  CHECK(lines.number() == 3);
  CHECK_FALSE(lines.next().has_value());
  CHECK(lines.number() == 3);
  CHECK(lines.words(*first) == Lines{"a", "b"});
}

// Real files may take much memory for their size; these would take 20 to 100 times as much as they
// unpack to, and thousands of times their own size.
TEST_CASE("a small file does not become a large one in memory", "[text][files][memory]") {
  const testing::Scratch folder;
  const auto path = folder / "bomb.gz";
  const auto check = [&](const std::string& text, std::size_t size, const auto& read) {
    testing::write_repeated(path, text, size);
    const testing::PeakMemory peak;  // of each reader, since malloc keeps what another has freed
    CHECK_THROWS_WITH(read(path), testing::too_much_of(path));
    if (const auto bytes = peak.bytes()) CHECK(*bytes < 300 * mebibyte);
  };
  check("abcdefgh", 17 * mebibyte, [](const auto& file) { return read_text(file); });
  check("\n", 9 * mebibyte, [](const auto& file) { return read_lines(file); });
  check("1 a\n", 12 * mebibyte, [](const auto& file) { return read_sentences(file); });
  const std::string one_line = "1 a b c";
  check(one_line, 25 * mebibyte, [](const auto& file) { return read_sentences(file); });
  check("1\ta\ta\ta\ta\t_\t0\troot\t_\t_\n\n", 48 * mebibyte,
        [](const auto& file) { return read_conllu(file); });
  check("1\n", 140 * mebibyte / (sizeof(real) / 4),
        [](const auto& file) { return read_csv(file); });
}

TEST_CASE("a text may unpack to 16 MiB, or take 100 times its size in memory", "[text][files]") {
  const testing::Scratch folder;
  testing::write_repeated(folder / "text.gz", "abcdefgh", 15 * mebibyte);
  CHECK(read_text(folder / "text.gz").size() >= 15 * mebibyte);
  const std::string large(20 * mebibyte, 'a');  // not packed
  CHECK(read_text(written(folder, "text", large)).size() == large.size());
}
