#include "data/subwords.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

#include "tapegrad/core/error.h"
#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/io/lines.h"

using namespace tapegrad;
using namespace tapegrad::support;
using Catch::Contains;

namespace {

using Lines = std::vector<std::string>;

const Lines lines{"the cat sees the dogs.", "my  cats see\tthe dog ", "Größe: 1,000.5 – „ja“", ""};

// With single blanks, none before the first word or behind the last.
std::string tidy(const std::string& line) {
  std::string result;
  for (const char c : line)
    if ((c != ' ' && c != '\t') || (!result.empty() && result.back() != ' '))
      result += c == '\t' ? ' ' : c;
  while (result.ends_with(' ')) result.pop_back();
  return result;
}

}  // namespace

TEST_CASE("text survives subwords but for runs of blanks") {
  const Subwords subwords = Subwords::learn(lines, 60);
  CHECK(subwords.count() == 60);
  for (const std::string& line : lines) {
    const std::vector<Index> ids = subwords.encode(line);
    CHECK(subwords.decode(ids) == tidy(line));
    CHECK(std::find(ids.begin(), ids.end(), Subwords::unknown) == ids.end());
  }
  CHECK(subwords.encode("the").size() < 3);  // it is frequent
  CHECK(subwords.encode("").empty());
  CHECK(subwords.decode({Subwords::begin, Subwords::end}).empty());
  for (const char* special : {"<pad>", "<s>", "</s>"})
    for (const Index id : subwords.encode(special))
      CHECK((id == Subwords::unknown || id > Subwords::end));
  const std::vector<Index> unknown = subwords.encode("the \u4e2d");
  CHECK(unknown.back() == Subwords::unknown);
}

TEST_CASE("pieces are the whole model, for any number of threads") {
  set_threads(1);
  const Subwords one = Subwords::learn(lines, 60);
  set_threads(2);
  const Subwords two = Subwords::learn(lines, 60);
  CHECK(one.pieces() == two.pieces());
  const Subwords again(one.pieces());
  CHECK(again.pieces() == one.pieces());
  for (const std::string& line : lines) CHECK(again.encode(line) == one.encode(line));
}

TEST_CASE("a small text has fewer pieces than asked for, a large alphabet too many") {
  CHECK(Subwords::learn({"a b a b"}, 1000).count() < 20);
  CHECK_THROWS_WITH(Subwords::learn({"abcdefgh"}, 10), Contains("Vocabulary size"));
  CHECK_THROWS_WITH(Subwords::learn({"", " \t"}, 100), Contains("no words to learn from"));
}

TEST_CASE("pieces that none has learnt are refused") {
  Lines good = Subwords::learn(lines, 40).pieces();
  for (const Lines& wrong : {Lines{}, Lines{"a", "b"}, Lines(good.begin(), good.begin() + 4)})
    CHECK_THROWS_WITH(Subwords(wrong), Contains("subwords: the first are not <pad>"));
  Lines twice = good, empty = good;
  twice.push_back(good.back());
  empty.push_back("");
  for (const Lines& wrong : {twice, empty})
    CHECK_THROWS_WITH(Subwords(wrong), Contains("empty, or there twice"));
  const Subwords subwords(good);
  CHECK_THROWS_AS(subwords.decode({subwords.count()}), ShapeError);
  CHECK_THROWS_AS(subwords.decode({-1}), ShapeError);
}

TEST_CASE("every training line of Multi30k survives subwords") {
  const char* data = std::getenv("TAPEGRAD_DATA");
  if (data == nullptr) {
    WARN("skipped: TAPEGRAD_DATA is not set, no lines were read");
    return;
  }
  const std::filesystem::path root = std::filesystem::path(data) / "multi30k";
  Lines all = read_lines(root / "train.de.gz"), english = read_lines(root / "train.en.gz");
  all.insert(all.end(), english.begin(), english.end());
  REQUIRE(all.size() == 58000);
  const Subwords subwords = Subwords::learn(all, 4000);
  CHECK(subwords.count() == 4000);
  std::size_t changed = 0;
  for (const std::string& line : all)
    changed += subwords.decode(subwords.encode(line)) != tidy(line);
  CHECK(changed == 0);
}
