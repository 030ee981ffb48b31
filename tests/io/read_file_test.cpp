#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <atomic>
#include <csignal>
#include <cstring>
#include <functional>
#include <optional>
#include <thread>

#include "support/child.h"
#include "support/files.h"
#include "support/scratch.h"
#include "tapegrad/core/error.h"
#include "tapegrad/io/file.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

// Bytes that hardly repeat.
Bytes noise(std::size_t count) {
  Bytes bytes;
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    bytes.push_back(static_cast<std::byte>(state >> 24));
  }
  return bytes;
}

// Reads from a pipe, as a shell makes them, that `write` writes to.
Bytes from_pipe(const std::function<void(int)>& write,
                std::size_t limit = std::numeric_limits<std::size_t>::max()) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const auto handler = std::signal(SIGPIPE, SIG_IGN);  // of a reader that gives up
  std::thread writer([&, end = ends[1]] {
    write(end);
    ::close(end);
  });
  Bytes found;
  std::string message;
  try {
    const FileBytes file = read_file(fmt::format("/dev/fd/{}", ends[0]), limit);
    found.assign(file.bytes().begin(), file.bytes().end());
  } catch (const DataError& error) {
    message = error.what();
  }
  ::close(ends[0]);
  writer.join();
  std::signal(SIGPIPE, handler);
  if (!message.empty()) throw DataError(message);
  return found;
}

void put(int file, const Bytes& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t count = ::write(file, bytes.data() + at, bytes.size() - at);
    if (count <= 0) return;
    at += static_cast<std::size_t>(count);
  }
}

std::atomic<int> signals = 0;

}  // namespace

TEST_CASE("files of every length are read, plain and gzipped", "[files]") {
  const Scratch folder;
  for (const std::size_t size : {0, 1, 2, 4095, 4096, 4097, 1 << 20, (3 << 20) + 1}) {
    const Bytes bytes = noise(size);
    write_file(folder / "plain", bytes);
    CHECK(bytes_in(folder / "plain") == bytes);
    write_file(folder / "packed", gzipped(bytes));  // recognized by its first bytes alone
    CHECK(bytes_in(folder / "packed") == bytes);
    CHECK(from_pipe([&](int end) { put(end, bytes); }) == bytes);
    CHECK(from_pipe([&](int end) { put(end, gzipped(bytes)); }) == bytes);
  }
  write_file(folder / "two.gz", gzipped(noise(3)) + gzipped({}) + gzipped(noise(5000)));
  CHECK(bytes_in(folder / "two.gz") == noise(3) + noise(5000));
  CHECK(read_text("/proc/self/status").starts_with("Name:"));
}

TEST_CASE("a file is written in parts", "[files]") {
  const Scratch folder;
  const Bytes one = noise(5000), two = noise(3);
  const std::span<const std::byte> parts[] = {one, {}, two, one};
  write_file(folder / "x", parts);
  CHECK(bytes_in(folder / "x") == one + two + one);
  write_file(folder / "x", std::span<const std::span<const std::byte>>());
  CHECK(bytes_in(folder / "x").empty());
}

TEST_CASE("a file that is read stays as it was when another takes its name", "[files]") {
  const Scratch folder;
  const Bytes before = noise(50'000);
  write_file(folder / "x", before);
  const FileBytes file = read_file(folder / "x");
  write_file(folder / "x", Bytes(10));
  for (const std::size_t begin : {0, 1, 4096, 49'000}) file.release(file.bytes().subspan(begin));
  CHECK(Bytes(file.bytes().begin(), file.bytes().end()) == before);
}

TEST_CASE("what is longer than its reader can use is refused", "[files]") {
  const Scratch folder;
  write_file(folder / "plain", noise(11));
  write_file(folder / "packed", gzipped(Bytes(1000)));
  CHECK(read_file(folder / "plain", 11).bytes().size() == 11);
  CHECK(read_file(folder / "packed", 1000).bytes().size() == 1000);
  CHECK_THROWS_WITH(read_file(folder / "plain", 10), Contains("plain has more than 10 bytes"));
  CHECK_THROWS_WITH(read_file(folder / "packed", 999), Contains("packed has more than 999 bytes"));
  CHECK_THROWS_WITH(from_pipe([](int end) { put(end, noise(11)); }, 10),
                    Contains("more than 10 bytes"));
}

TEST_CASE("a gzipped file that is damaged anywhere is refused", "[files]") {
  const Scratch folder;
  const Bytes whole = noise(300), packed = gzipped(whole);
  const fs::path path = folder / "x.gz";
  const auto refused = [&](const Bytes& bytes, const std::string& words) {
    write_quickly(path, bytes);
    CHECK_THROWS_WITH(read_file(path),
                      Contains(path.string()) && Contains("is damaged") && Contains(words));
  };
  for (std::size_t length = 0; length < packed.size(); ++length)
    refused(first(packed, length), length < 2 ? "does not begin" : "cut off");
  const std::string follow = fmt::format("bytes follow the gzip data, at byte {}", packed.size());
  for (const std::size_t zeros : {1, 512}) {  // which gzip ignores, too
    write_quickly(path, packed + Bytes(zeros));
    CHECK(bytes_in(path) == whole);
  }
  refused(packed + Bytes(3) + first(packed, 1), "4 " + follow);
  refused(packed + noise(20), follow);
  refused(packed + first(packed, 1), follow);
  refused(packed + first(packed, packed.size() - 1), "cut off");
  refused(whole, "does not begin");

  for (std::size_t at = 0; at < packed.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      Bytes flipped = packed;
      flipped[at] ^= std::byte{1} << bit;
      write_quickly(path, flipped);
      INFO("byte " << at << ", bit " << bit);
      std::optional<Bytes> found;
      try {
        found = bytes_in(path);
      } catch (const DataError& error) {
        CHECK_THAT(error.what(), Contains(path.string()));
        continue;
      }
      CHECK(*found == whole);
      CHECK(at >= 3);                 // magic bytes and method
      CHECK(at + 8 < packed.size());  // checksum and length
    }
}

TEST_CASE("a small gzipped file does not fill the memory", "[files][memory]") {
  const Scratch folder;
  const Bytes zeros = gzipped(Bytes(mebibyte));
  Bytes packed;
  for (int i = 0; i < 257; ++i) packed = std::move(packed) + zeros;
  write_file(folder / "bomb", packed);
  // Once before: what earlier tests have freed may come back, and is not what this one needs.
  CHECK_THROWS_AS(read_file(folder / "bomb"), DataError);
  const PeakMemory peak;
  CHECK_THROWS_WITH(read_file(folder / "bomb"),
                    Contains("its " + std::to_string(packed.size()) + " bytes unpack to") &&
                        Contains("more than 268435456") && Contains("gunzip"));
  if (const auto bytes = peak.bytes()) CHECK(*bytes < 300 * mebibyte);
  // This text is as large, but less than 100 times the size of its file.
  write_file(folder / "honest", packed + gzipped(noise(5 * mebibyte / 2)));
  CHECK(read_file(folder / "honest").bytes().size() == 257 * mebibyte + 5 * mebibyte / 2);
}

TEST_CASE("what is no regular file is not read", "[files]") {
  const Scratch folder;
  make_irregular_files(folder.path);
  const std::pair<fs::path, const char*> kinds[] = {
      {folder / "folder", "a directory"}, {folder / "fifo", "a FIFO"},
      {folder / "socket", "a socket"},    {folder / "link", "a FIFO"},
      {"/dev/null", "a device"},          {"/dev/zero", "a device"}};
  for (const auto& [path, kind] : kinds)
    CHECK_THROWS_WITH(read_file(path), Contains(path.string() + ": it is " + kind));
  CHECK_THROWS_WITH(read_file(folder / "none"),
                    Contains((folder / "none").string()) && Contains(std::strerror(ENOENT)));
  CHECK_THROWS_WITH(read_file(""), Contains(std::strerror(ENOENT)));
}

TEST_CASE("a signal does not end the reading", "[files]") {
  struct sigaction counts {
  }, before{};
  counts.sa_handler = [](int) { ++signals; };  // without SA_RESTART: calls end with EINTR
  REQUIRE(::sigaction(SIGUSR1, &counts, &before) == 0);
  const pthread_t reader = ::pthread_self();
  const Bytes bytes = noise(100);
  CHECK(from_pipe([&](int end) {
          for (int i = 0; i < 50; ++i) {
            ::pthread_kill(reader, SIGUSR1);
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
          }
          put(end, bytes);
        }) == bytes);
  CHECK(signals > 0);
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_CASE("why a file cannot be read, and what to do", "[files]") {
  const Scratch folder;
  fs::create_symlink(folder / "b", folder / "a");
  fs::create_symlink(folder / "a", folder / "b");
  const fs::path loop = folder / "a", missing = folder / "none",
                 long_name = folder / std::string(300, 'n');
  CHECK_THROWS_WITH(read_file(loop), Contains(loop.string()) &&
                                         Contains("; name the file that they should lead to"));
  CHECK_THROWS_WITH(read_file(missing), Contains(missing.string()) && Contains("; check the name"));
  CHECK_THROWS_WITH(read_file(long_name), Contains("; name a shorter path"));
  CHECK_THROWS_WITH(write_file(loop, Bytes()),
                    Contains(loop.string()) && Contains("; name the file"));
  CHECK_FALSE(is_there(missing));
  CHECK_FALSE(is_there(folder / "none" / "x"));
  CHECK(is_there(folder.path));
  CHECK(is_there(loop));  // reading it reports why not
  CHECK(is_there(long_name));
  CHECK(entries_of(folder.path) == std::vector<fs::path>{folder / "a", folder / "b"});
  CHECK(entries_of(missing).empty());
  write_quickly(folder / "file", {});
  CHECK(entries_of(folder / "file").empty());
  CHECK_THROWS_WITH(entries_of(loop), Contains(loop.string() + ": cannot read this directory: ") &&
                                          Contains("; name"));
  CHECK_THROWS_AS(entries_of(long_name), DataError);
}

#ifndef TAPEGRAD_SANITIZED  // sanitizers need more address space than that
TEST_CASE("a file for which there is no memory is named", "[files][memory]") {
  const Scratch folder;
  write_quickly(folder / "sparse", {});
  constexpr std::uintmax_t size = std::uintmax_t{1} << 43;  // of which the disk has nothing
  std::error_code too_large;
  fs::resize_file(folder / "sparse", size, too_large);
  if (too_large) return;  // for this file system
  const std::string message = in_child([&] {
    const rlimit limit{std::size_t{1} << 42, std::size_t{1} << 42};
    allowed(::setrlimit(RLIMIT_AS, &limit) == 0, "cannot limit memory");
    rlimit found{};
    ::getrlimit(RLIMIT_AS, &found);
    if (found.rlim_cur != limit.rlim_cur) throw Skipped("skipped: an emulator limits no memory");
    read_file(folder / "sparse");
  });
  check_outcome(message,
                (folder / "sparse").string() + ": no memory for 8796093022208 bytes; divide it");
}
#endif
