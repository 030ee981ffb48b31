#include "experiments/packed_runs.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <thread>

#include "support/scratch.h"
#include "tapegrad/core/error.h"
#include "tapegrad/io/file.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using Catch::Contains;

namespace {

// The digests are from a table of FNV-1a, 64 bits, by its authors: of "a", "b" and "foobar".
const std::string lines =
    R"({"run":"study/a b,c:d=1@0.3","seed":2,"repeat":1,"digest":"af63dc4c8601ec8c","record":a})"
    "\n"
    R"({"run":"study/a b,c:d=1@0.3","seed":10,"repeat":1,"digest":"af63df4c8601f1a5","record":b})"
    "\n"
    R"({"run":"study/a b,c:d=1@0.3","seed":10,"repeat":2,"digest":"85944171f73967e8","record":foobar})"
    "\n";
const std::string name = "study/a b,c:d=1@0.3";

std::string refusal(const std::string& text) {
  try {
    PackedRuns(text, "toys.jsonl.gz");
    return "";
  } catch (const DataError& error) {
    return error.what();
  }
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("runs are lines in the order of run, seed and repeat, each with its digest") {
  PackedRuns runs;
  CHECK(runs.add({name, 10}, "b"));
  CHECK(runs.add({name, 10}, "foobar"));
  CHECK(runs.add({name, 2}, "a"));
  CHECK(runs.lines() == lines);
  CHECK(PackedRuns().lines().empty());
}

TEST_CASE("lines give the runs again, in any order") {
  for (const std::string& each :
       {lines, lines.substr(0, lines.size() - 1),
        lines.substr(lines.find('\n') + 1) + lines.substr(0, lines.find('\n') + 1)}) {
    const PackedRuns runs(each, "toys.jsonl.gz");
    CHECK(runs.lines() == lines);
    CHECK(runs.latest({name, 2})->record == "a");
    CHECK(runs.latest({name, 10})->record == "foobar");
    CHECK(runs.latest({name, 3}) == nullptr);
    CHECK(runs.latest({"study", 2}) == nullptr);
  }
  CHECK(PackedRuns(lines, "f").latest({name, 10})->source == "f: line 3: " + name + " seed 10");
  CHECK(PackedRuns("", "f").repeats().empty());
}

TEST_CASE("a run again is the next repeat, unless it came to the same") {
  PackedRuns runs;
  CHECK(runs.add({"study/x", 1}, "first"));
  CHECK_FALSE(runs.add({"study/x", 1}, "first"));
  CHECK(runs.add({"study/x", 1}, "second"));
  CHECK(runs.add({"study/x", 1}, "first"));
  const auto& repeats = runs.repeats().at({"study/x", 1});
  REQUIRE(repeats.size() == 3);
  CHECK(repeats.at(1).record == "first");
  CHECK(repeats.at(2).record == "second");
  CHECK(repeats.at(3).record == "first");
}

TEST_CASE("a line that is no run is refused by its number") {
  CHECK(refusal(lines).empty());
  for (const std::string& last :
       {std::string("\n"), std::string("{}"), std::string("["), std::string(100000, '['),
        std::string(R"(,"record":})"), changed(lines, R"("seed":2)", R"("seed":-2)"),
        changed(lines, R"("seed":2)", R"("seed":2.5)"),
        changed(lines, R"("seed":2)", R"("seed":"2")"),
        changed(lines, R"("repeat":1)", R"("repeat":0)"),
        changed(lines, R"("repeat":1)", R"("repeat":18446744073709551615)"),
        changed(lines, R"("repeat":1)", R"("seed":1)"),
        changed(lines, R"("repeat":1)", R"("repeat":1,"more":1)"),
        changed(lines, R"("run")", R"("name")"), changed(lines, R"("study/)", R"(["study"],")"),
        changed(lines, ":a}", ":a")})
    CHECK(refusal(lines + last) ==
          "toys.jsonl.gz: line 4: it is not a run of the laboratory; remove the line");
}

TEST_CASE("a record that does not fit its digest is refused by name") {
  CHECK(refusal(changed(lines, "foobar", "fooba")) ==
        "toys.jsonl.gz: line 3: " + name +
            " seed 10: its record is damaged: its digest is cac165afa2fef40a, not "
            "85944171f73967e8; remove the line");
}

TEST_CASE("a run that has two lines is refused by name") {
  const std::string again = lines.substr(0, lines.find('\n') + 1);
  CHECK(refusal(lines + again) ==
        "toys.jsonl.gz: line 4: " + name +
            " seed 2: repeat 1 has another line: toys.jsonl.gz: line 1: " + name +
            " seed 2; remove one of them");
}

TEST_CASE("a file has what was added to it") {
  const testing::Scratch folder;
  const std::filesystem::path path = folder / "runs/study.jsonl.gz";
  RunFile file(path), other(path);
  CHECK(file.runs().repeats().empty());
  file.add({name, 10}, "b");
  CHECK(other.runs().latest({name, 10})->record == "b");
  other.add({name, 10}, "foobar");
  file.add({name, 2}, "a");
  CHECK(read_file(path).text() == lines);
  CHECK(other.runs().latest({name, 2})->record == "a");
  const std::string bytes = bytes_of(path);
  other.add({name, 2}, "a");
  CHECK(bytes_of(path) == bytes);
  CHECK(entries_of(folder / "runs").size() == 1);  // no lock is left
  std::filesystem::remove(path);
  CHECK(file.runs().repeats().empty());
}

TEST_CASE("a file of the same runs has the same bytes, with neither a name nor a time") {
  const testing::Scratch folder;
  RunFile one(folder / "one.jsonl.gz"), two(folder / "two.jsonl.gz");
  for (const char* record : {"1", "2"}) {
    one.add({"study/x", 1}, record);
    one.add({"study/y", 1}, record);
  }
  for (const char* each : {"study/y", "study/x"})
    for (const char* record : {"1", "2"}) two.add({each, 1}, record);
  const std::string bytes = bytes_of(one.path());
  CHECK(bytes == bytes_of(two.path()));
  CHECK(bytes.substr(0, 10) == std::string("\x1f\x8b\x08\0\0\0\0\0\x02\xff", 10));
}

TEST_CASE("a bit of a file that is flipped changes no run unnoticed") {
  const testing::Scratch folder;
  const std::filesystem::path path = folder / "study.jsonl.gz";
  RunFile(path).add({"study/x", 1}, "a record");
  const std::string bytes = bytes_of(path), good = RunFile(path).runs().lines();
  std::size_t noticed = 0;
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    std::ofstream(path, std::ios::binary) << damaged;
    INFO("bit " << bit);
    try {
      const std::string found = RunFile(path).runs().lines();
      CHECK(found == good);
    } catch (const DataError& error) {
      CHECK_THAT(error.what(), Contains("study.jsonl.gz"));
      ++noticed;
    }
  }
  // No run depends on the header of ten bytes, but for its kind, and on the bits that fill a byte.
  CHECK(noticed > 8 * (bytes.size() - 11));
}

TEST_CASE("threads that add at the same time lose nothing") {
  const testing::Scratch folder;
  const std::filesystem::path path = folder / "study.jsonl.gz";
  const auto add = [&](const std::string& own) {
    RunFile file(path);
    for (std::uint64_t seed = 1; seed <= 20; ++seed) file.add({own, seed}, own);
  };
  std::thread other(add, "study/x");
  add("study/y");
  other.join();
  CHECK(RunFile(path).runs().repeats().size() == 40);
}

TEST_CASE("a claim is held by one at a time, and leaves nothing") {
  const testing::Scratch folder;
  const RunFile file(folder / "study.jsonl.gz");
  {
    const FileLock mine = file.claim({"study/x", 1});
    CHECK(mine.is_held());
    CHECK_FALSE(file.claim({"study/x", 1}).is_held());
    CHECK(file.claim({"study/x", 2}).is_held());
    CHECK(file.claim({"study/x 1", 1}).is_held());
  }
  CHECK(file.claim({"study/x", 1}).is_held());
  CHECK(entries_of(folder.path).empty());
}
