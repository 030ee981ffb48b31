// A save in which each call of the file system fails once: the old checkpoint stays bit for bit, or
// the new one is whole.

#include <catch2/catch.hpp>

#include <cerrno>
#include <cstring>
#include <map>

#include "failing_files.h"
#include "support/acl.h"
#include "support/scratch.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

constexpr int all = 1000;
// The number of first calls of each kind that a save cannot do without. Later ones close files,
// keep the owner of the old one, or wait for the folder.
const std::map<std::string, int> essential{
    {"lstat", 1},  {"stat", 1},   {"getentropy", 1}, {"open", 1},         {"write", all},
    {"fsync", 1},  {"rename", 1}, {"faccessat", 1},  {"flock", 0},        {"fstat", 0},
    {"fchown", 0}, {"fchmod", 0}, {"getxattr", 0},   {"fremovexattr", 0}, {"close", 0}};

// The message of a save that has failed, or "".
std::string failure_of_save(const fs::path& file, const Linear& net) {
  try {
    save_checkpoint(file, {fields(net)});
    return "";
  } catch (const DataError& error) {
    return error.what();
  }
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

}  // namespace

TEST_CASE("a save whose n-th call fails keeps the old file or leaves the new one whole") {
  const Scratch folder;
  const fs::path file = folder / "checkpoint";
  Random random(1);
  const Linear before(30, 20, random), after(30, 20, random);
  save_checkpoint(file, {fields(before)});
  const auto old_bytes = read_text(file);
  save_checkpoint(file, {fields(after)});
  const auto new_bytes = read_text(file);
  const bool replaces = GENERATE(true, false);
  const auto [call, needed] = GENERATE(from_range(essential));
  const int error = GENERATE(ENOSPC, EIO, EINTR);
  int number = 1;
  for (;; ++number) {
    fs::remove(file);
    if (replaces) save_checkpoint(file, {fields(before)});
    std::string message;
    {
      const FileFault fault(fmt::format("{}:{}:{}", call, number, error));
      message = failure_of_save(file, after);
      if (!file_fault_struck()) break;
    }
    CAPTURE(call, number, error);
    const bool repeated = error == EINTR && (call == "write" || call == "fsync");
    CHECK(message.empty() == (number > needed || repeated));
    if (!message.empty()) {
      CHECK_THAT(message, Contains(file.string()) && Contains(std::strerror(error)));
      CHECK(fs::exists(file) == replaces);
    }
    if (fs::exists(file)) {
      CHECK((read_text(file) == (message.empty() ? new_bytes : old_bytes)));
      fs::remove(file);
    }
    CHECK(files_in(folder.path).empty());
  }
  const bool only_of_old_files = call == "faccessat" || call == "fchown" || call == "fchmod" ||
                                 call == "getxattr" || call == "fremovexattr";
  CHECK((number > 1) == (replaces || !only_of_old_files));
}

TEST_CASE("an access control list that cannot be kept gives nobody access") {
  const Scratch folder;
  const fs::path file = folder / "checkpoint";
  Random random(1);
  const Linear net(30, 20, random);
  for (const char* call : {"getxattr", "fsetxattr"}) {
    fs::remove(file);
    save_checkpoint(file, {fields(net)});
    if (!give_access(file, 1234)) {
      WARN("skipped: no access control lists here");
      return;
    }
    const FileFault fault(fmt::format("{}:1:{}", call, ENOSPC));
    save_checkpoint(file, {fields(net)});
    CHECK(file_fault_struck());
    CHECK(acl_of(file).empty());
    CHECK((fs::status(file).permissions() == fs::perms(0600)));
  }
}

TEST_CASE("a save goes on after writing a part") {
  const Scratch folder;
  const fs::path file = folder / "checkpoint";
  Random random(1);
  const Linear net(30, 20, random);
  save_checkpoint(file, {fields(net)});
  const auto expected = read_text(file);
  int number = 1;
  for (;; ++number) {
    fs::remove(file);
    const FileFault fault(fmt::format("write:{}:short", number));
    save_checkpoint(file, {fields(net)});
    if (!file_fault_struck()) break;
    CHECK((read_text(file) == expected));
  }
  CHECK(number > 1);
}
