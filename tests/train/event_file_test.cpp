#include "tapegrad/train/event_file.h"

#include <catch2/catch.hpp>
#include <ctime>
#include <fstream>
#include <set>

#include "support/scratch.h"
#include "tapegrad/core/error.h"
#include "tapegrad/io/file.h"

using namespace tapegrad;
using namespace std::string_literals;
using Catch::Contains;
using tapegrad::testing::Scratch;

namespace {

std::set<std::filesystem::path> files_in(const Scratch& folder) {
  const std::filesystem::directory_iterator files(folder.path);
  return {begin(files), end(files)};
}

std::string only_file(const Scratch& folder) {
  REQUIRE(files_in(folder).size() == 1);
  return read_text(*files_in(folder).begin());
}

}  // namespace

TEST_CASE("crc32c gives the values of RFC 3720, appendix B.4") {
  std::string ascending, descending;
  for (char i = 0; i < 32; ++i) ascending += i, descending += static_cast<char>(31 - i);
  const std::string command =
      "\x01\xc0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x14\0\0\0\0\0\x04\0\0\0\0\x14\0\0\0\x18"
      "\x28\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0"s;  // an iSCSI read
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aa);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43);
  CHECK(crc32c(ascending) == 0x46dd794e);
  CHECK(crc32c(descending) == 0x113fdb5c);
  CHECK(crc32c(command) == 0xd9963a56);
}

TEST_CASE("an event has the bytes of its protocol buffer, in a record with two checksums") {
  const Scratch folder;
  EventFile file(folder.path);
  file.add(1, 1.5, {{"a", 0.5}});
  const std::size_t before = only_file(folder).size();
  file.add(300, 1.5, {{"a", 0.5}, {"bc", -2}});
  const std::string record = only_file(folder).substr(before);
  const std::string event =
      "\x09\0\0\0\0\0\0\xf8\x3f"                // wall_time: 1.5
      "\x10\xac\x02"                            // step: 300
      "\x2a\x15"                                // summary, of 21 bytes
      "\x0a\x08\x0a\x01\x61\x15\0\0\0\x3f"      // value: a 0.5
      "\x0a\x09\x0a\x02\x62\x63\x15\0\0\0\xc0"  // value: bc -2
      ""s;
  REQUIRE(record.size() == 8 + 4 + event.size() + 4);
  CHECK(record.substr(0, 8) == "\x23\0\0\0\0\0\0\0"s);
  CHECK(record.substr(12, event.size()) == event);
  for (const auto& [data, at] : {std::pair{record.substr(0, 8), 8}, {event, 12 + 35}}) {
    const std::uint32_t crc = crc32c(data), masked = ((crc >> 15) | (crc << 17)) + 0xa282ead8;
    for (int i = 0; i < 4; ++i)
      CHECK(static_cast<unsigned char>(record[static_cast<std::size_t>(at + i)]) ==
            (masked >> (8 * i) & 0xff));
  }
}

TEST_CASE("what a failed write has left is written over") {
  const Scratch folder, other;
  EventFile file(folder.path), whole(other.path);
  file.add(1, 1.5, {{"a", 0.5}});
  std::ofstream(*files_in(folder).begin(), std::ios::app) << "half a record";
  file.add(2, 2.5, {{"a", 0.25}});
  whole.add(1, 1.5, {{"a", 0.5}});
  whole.add(2, 2.5, {{"a", 0.25}});
  CHECK(only_file(folder) == only_file(other));
}

TEST_CASE("a file that cannot be written is an error that names it") {
  const Scratch folder;
  EventFile none(folder / "missing");
  CHECK_THROWS_WITH(none.add(1, 1.5, {{"a", 0.5}}),
                    Contains("missing/events.out.tfevents.") && Contains("No such file"));
  EventFile removed(folder.path);
  removed.add(1, 1.5, {{"a", 0.5}});
  std::filesystem::remove(*files_in(folder).begin());
  CHECK_THROWS_AS(removed.add(2, 2.5, {{"a", 0.5}}), DataError);
}

TEST_CASE("files of one second have names of their own, in the order of their beginnings") {
  const Scratch folder;
  std::set<std::filesystem::path> before;
  for (int i = 0; i < 3; ++i) {
    EventFile(folder.path).add(1, 1.5, {{"a", 0.5}});
    const auto files = files_in(folder);
    REQUIRE(files.size() == before.size() + 1);
    CHECK(before.count(*files.rbegin()) == 0);
    CHECK(is_event_file(*files.rbegin()));
    before = files;
  }
  CHECK_FALSE(is_event_file("events.out.tfevents.1700000000.host.77.0"));  // PyTorch's
}

TEST_CASE("an event file follows no link that somebody has planted under its name") {
  const Scratch elsewhere, folder;
  EventFile(elsewhere.path).add(1, 1.5, {{"a", 0.5}});
  const std::string name = files_in(elsewhere).begin()->filename().string();
  const std::size_t from = name.find_first_of("0123456789"), to = name.find('.', from);
  const std::filesystem::path target = folder / "target";
  const auto plant = [&](std::time_t second) {
    const std::string own = name.substr(0, from) + std::to_string(second) + name.substr(to);
    std::filesystem::create_symlink(target, folder / own);
  };
  const std::time_t now = std::time(nullptr);
  for (std::time_t second = now; second < now + 5; ++second) plant(second);
  EventFile file(folder.path);  // takes the first name without a link
  for (std::time_t second = now + 5; second < now + 20; ++second) plant(second);  // meanwhile
  CHECK_THROWS_AS(file.add(1, 1.5, {{"a", 0.5}}), DataError);
  CHECK_FALSE(std::filesystem::exists(target));
  EventFile(folder.path).add(1, 1.5, {{"a", 0.5}});
  CHECK_FALSE(std::filesystem::exists(target));
}
