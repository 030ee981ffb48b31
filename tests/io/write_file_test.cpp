#include "tapegrad/io/file.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "support/acl.h"
#include "support/child.h"
#include "support/files.h"
#include "support/scratch.h"
#include "tapegrad/core/error.h"

using namespace tapegrad;
using Catch::Contains;
using namespace tapegrad::testing;
namespace fs = std::filesystem;

namespace {

constexpr const char* random_name = "x.0123456789abcdef.tmp";  // as write_file may choose it

void write(const fs::path& path, const std::string& text) {
  write_file(path, std::as_bytes(std::span(text)));
}

// The permissions of the file with this name.
mode_t mode(const fs::path& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

// A file of equal bytes; one with different bytes is torn.
bool is_whole(const std::string& text, std::size_t size) {
  return text.size() == size && text.find_first_not_of(text[0]) == std::string::npos;
}

}  // namespace

TEST_CASE("a file that is written keeps the permissions of the one before", "[files]") {
  const Scratch folder;
  const mode_t before = ::umask(027);
  write(folder / "new", "1");
  ::umask(before);
  CHECK(mode(folder / "new") == 0640);
  for (const mode_t kept : {0600, 0644, 0664}) {
    fs::permissions(folder / "new", fs::perms(kept));
    write(folder / "new", "22");
    CHECK(mode(folder / "new") == kept);
  }
  CHECK(read_text(folder / "new") == "22");
}

TEST_CASE("a file that is written keeps the owner of the one before", "[files]") {
  const Scratch folder;
  write(folder / "x", "1");
  if (::chown((folder / "x").c_str(), 12, 34) != 0) {
    WARN("skipped: no right to give a file to another user");
    return;
  }
  write(folder / "x", "2");
  struct stat status {};
  REQUIRE(::stat((folder / "x").c_str(), &status) == 0);
  CHECK(status.st_uid == 12);
  CHECK(status.st_gid == 34);

  // A user who may not keep the file's group does not give access to his own group instead.
  fs::permissions(folder / "x", fs::perms(0676));
  fs::permissions(folder.path, fs::perms::all);
  check_outcome(
      in_child([&] {
        allowed(::setgroups(0, nullptr) == 0 && ::setgid(nobody) == 0 && ::setuid(nobody) == 0,
                "cannot become a plain user");
        write(folder / "x", "3");
      }),
      "done");
  CHECK(mode(folder / "x") == 0666);
}

TEST_CASE("a file that the process may not write is not replaced", "[files]") {
  const Scratch folder;
  fs::permissions(folder.path, fs::perms::all);
  write(folder / "x", "before");
  for (const mode_t kept : {0400, 0644}) {  // of his own, another's
    REQUIRE(::chown((folder / "x").c_str(), kept == 0400 ? nobody : ::getuid(), gid_t(-1)) == 0);
    fs::permissions(folder / "x", fs::perms(kept));
    check_outcome(in_child_without_privileges([&] { write(folder / "x", "after"); }),
                  fmt::format("{}: {}", (folder / "x").string(), std::strerror(EACCES)));
  }
  CHECK(read_text(folder / "x") == "before");
}

TEST_CASE("a file that is written keeps the access control list of the one before", "[files]") {
  const Scratch folder;
  write(folder / "listed", "1");
  write(folder / "plain", "1");
  fs::permissions(folder / "plain", fs::perms(0660));
  if (!give_access(folder / "listed", 1234) ||
      !give_access(folder.path, 1235, "system.posix_acl_default")) {
    WARN("skipped: no access control lists here");
    return;
  }
  const std::string before = acl_of(folder / "listed");
  write(folder / "listed", "2");
  CHECK(acl_of(folder / "listed") == before);
  CHECK(mode(folder / "listed") == 0660);
  // The folder's list applies to new files only.
  write(folder / "plain", "2");
  CHECK(acl_of(folder / "plain").empty());
  CHECK(mode(folder / "plain") == 0660);

  // A user who may not keep the file's group does not give access to his own group instead.
  if (::chown((folder / "listed").c_str(), 12, 34) != 0) return;
  fs::permissions(folder.path, fs::perms::all);
  check_outcome(in_child([&] {
                  allowed(
                      ::setgroups(0, nullptr) == 0 && ::setgid(nobody) == 0 && ::setuid(1234) == 0,
                      "cannot become a plain user");
                  write(folder / "listed", "3");
                }),
                "done");
  CHECK(mode(folder / "listed") == 0600);
}

TEST_CASE("writing follows symlinks", "[files]") {
  const Scratch folder;
  fs::create_directory(folder / "there");
  write(folder / "there" / "target", "1");
  fs::create_symlink("there/target", folder / "link");
  fs::create_symlink(folder / "link", folder / "chain");
  write(folder / "chain", "2");
  CHECK(read_text(folder / "there" / "target") == "2");
  fs::create_symlink("there/new", folder / "dangling");
  write(folder / "dangling", "3");
  CHECK(read_text(folder / "there" / "new") == "3");
  for (const char* link : {"link", "chain", "dangling"}) CHECK(fs::is_symlink(folder / link));
  CHECK(names_in(folder / "there") == std::vector<std::string>{"new", "target"});

  fs::create_symlink("loop", folder / "loop");
  CHECK_THROWS_WITH(write(folder / "loop", "4"),
                    Contains("loop") && Contains(std::strerror(ELOOP)));
}

TEST_CASE("what is no regular file is not replaced", "[files]") {
  const Scratch folder;
  make_irregular_files(folder.path);
  const std::pair<const char*, const char*> kinds[] = {
      {"folder", "a directory"}, {"fifo", "a FIFO"}, {"socket", "a socket"}, {"link", "a FIFO"}};
  for (const auto& [name, kind] : kinds) {
    CHECK_THROWS_WITH(write(folder / name, "1"),
                      Contains((folder / name).string()) && Contains(kind));
    CHECK_FALSE(fs::is_regular_file(folder / name));
  }
  CHECK(names_in(folder.path).size() == 4);
  // Not as root, who could replace the device.
  check_outcome(in_child_without_privileges([] { write("/dev/null", "1"); }),
                "/dev/null: it is a device");
}

TEST_CASE("a planted link leads a writer nowhere", "[files]") {
  const Scratch folder;
  write(folder / "victim", "precious");
  const std::string guessed = fmt::format("x.{}.tmp", ::getpid());
  for (const std::string& name : {guessed, std::string(random_name), std::string("x.tmp")})
    fs::create_symlink("victim", folder.path / name);
  write(folder / "x", "1");
  CHECK(read_text(folder / "x") == "1");
  CHECK_FALSE(fs::is_symlink(folder / "x"));
  CHECK(read_text(folder / "victim") == "precious");
  CHECK(fs::is_symlink(folder / random_name));
}

TEST_CASE("readers never see a torn file, however many write it", "[files]") {
  const Scratch folder;
  constexpr std::size_t size = 300'000;
  constexpr int writers = 3, rounds = 20;
  const fs::path path = folder / "x";
  write(path, std::string(size, '-'));
  const auto write_often = [&](char first) {
    for (int i = 0; i < rounds; ++i) write(path, std::string(size, static_cast<char>(first + i)));
  };

  std::vector<pid_t> children;
  for (int i = 0; i < writers; ++i) {
    children.push_back(::fork());
    if (children.back() > 0) continue;
    try {
      write_often('A');
      ::_exit(0);
    } catch (const std::exception&) {
      ::_exit(1);
    }
  }
  std::vector<std::thread> threads;
  std::atomic<int> running = writers, failed = 0;
  for (int i = 0; i < writers; ++i)
    threads.emplace_back([&] {
      try {
        write_often('a');
      } catch (const DataError&) {
        ++failed;
      }
      --running;
    });
  int torn = 0;
  while (running > 0) torn += !is_whole(read_text(path), size);
  for (std::thread& thread : threads) thread.join();
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  CHECK(failed == 0);
  CHECK(torn == 0);
  CHECK(is_whole(read_text(path), size));
  CHECK(names_in(folder.path) == std::vector<std::string>{"x"});
}

TEST_CASE("what a killed writer leaves goes with the next one", "[files]") {
  const Scratch folder;
  write(folder / "x", "before");
  const std::string large(std::size_t{32} << 20, 'l');
  bool left = false;  // the signal may come between two files
  for (int attempt = 0; attempt < 100 && !left; ++attempt) {
    const pid_t child = ::fork();
    if (child == 0)
      while (true) write(folder / "x", large);
    while (names_in(folder.path).size() == 1)
      if (::waitpid(child, nullptr, WNOHANG) != 0) FAIL("the writer has ended");
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    left = names_in(folder.path).size() == 2;
  }
  REQUIRE(left);
  const std::string seen = read_text(folder / "x");
  CHECK((seen == "before" || seen == large));
  write(folder / "other", "1");  // not its own
  CHECK(names_in(folder.path).size() == 3);
  write(folder / "x", "after");
  CHECK(names_in(folder.path) == std::vector<std::string>{"other", "x"});
}

TEST_CASE("a writer removes no files but stale temporaries of its own", "[files]") {
  const Scratch folder;
  const char* const others[] = {"x.0123456789abcdeg.tmp", "x.0123456789abcdef", "x.tmp",
                                "xx.0123456789abcdef.tmp", "x.0123456789abcdef.tmp.tmp"};
  for (const char* name : others) write(folder / name, "1");
  write(folder / random_name, "1");
  const int writer = ::open((folder / random_name).c_str(), O_WRONLY | O_CLOEXEC);
  REQUIRE(::flock(writer, LOCK_EX) == 0);
  write(folder / "x", "1");
  CHECK(fs::exists(folder / random_name));
  ::close(writer);
  write(folder / "x", "1");
  CHECK_FALSE(fs::exists(folder / random_name));
  write(folder / random_name, "1");
  expect_writable(folder / "x");  // as programs begin: those that end at once leave the file to it
  CHECK_FALSE(fs::exists(folder / random_name));
  for (const char* name : others) CHECK(fs::exists(folder / name));
}

TEST_CASE("a limit on the size of files is an error and no signal", "[files]") {
  const Scratch folder;
  write(folder / "x", "before");
  const std::string message = in_child([&] {
    const rlimit limit{10'000, 10'000};
    allowed(::setrlimit(RLIMIT_FSIZE, &limit) == 0, "cannot limit the size of files");
    write(folder / "x", std::string(20'000, 'a'));
  });
  check_outcome(message, std::strerror(EFBIG));
  check_outcome(message, (folder / "x").string());
  CHECK(read_text(folder / "x") == "before");
  CHECK(names_in(folder.path) == std::vector<std::string>{"x"});
}

TEST_CASE("a full disk is an error that names the file", "[files]") {
  const Scratch folder;
  check_outcome(in_child([&] {
                  allowed(::unshare(CLONE_NEWNS) == 0, "no file systems of its own");
                  allowed(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                              ::mount("none", folder.path.c_str(), "tmpfs", 0, "size=64k") == 0,
                          "cannot mount a small file system");
                  write(folder / "x", "before");
                  std::string message;
                  try {
                    write(folder / "x", std::string(200'000, 'a'));
                  } catch (const DataError& error) {
                    message = error.what();
                  }
                  expect(read_text(folder / "x") == "before", "x has changed");
                  expect(names_in(folder.path).size() == 1, "a temporary file stays");
                  throw Error(message);
                }),
                fmt::format("{}: {}", (folder / "x").string(), std::strerror(ENOSPC)));
}

TEST_CASE("a folder that is read-only is an error that names the file", "[files]") {
  const Scratch folder;
  write(folder / "x", "before");
  fs::permissions(folder.path, fs::perms(0555));
  check_outcome(in_child_without_privileges([&] { write(folder / "x", "1"); }),
                fmt::format("{}: {}", (folder / "x").string(), std::strerror(EACCES)));
  fs::permissions(folder.path, fs::perms(0755));
  CHECK(read_text(folder / "x") == "before");
  CHECK(names_in(folder.path) == std::vector<std::string>{"x"});
}

TEST_CASE("whether a file can be written is known without writing it", "[files]") {
  const Scratch folder;
  write(folder / "x", "before");
  for (const char* name : {"x", "new"}) CHECK_NOTHROW(expect_writable(folder / name));
  CHECK(read_text(folder / "x") == "before");
  CHECK_THROWS_WITH(expect_writable(folder.path), Contains("a directory"));
  CHECK_THROWS_WITH(expect_writable(folder.path / "no" / "x"), Contains(std::strerror(ENOENT)));
  CHECK(names_in(folder.path) == std::vector<std::string>{"x"});
}

TEST_CASE("names are taken as they are", "[files]") {
  const Scratch folder;
  CHECK_THROWS_WITH(write("", "1"), Contains("write_file") && Contains("empty"));
  for (const std::string& name : {std::string(255, 'n'), std::string("\xff\xfe {} %s\n")}) {
    write(folder.path / name, "1");
    write(folder.path / name, "2");
    CHECK(read_text(folder.path / name) == "2");
    CHECK(names_in(folder.path) == std::vector<std::string>{name});
    fs::remove(folder.path / name);
  }
  const std::string longer(256, 'n');
  CHECK_THROWS_WITH(write(folder.path / longer, "1"),
                    Contains(longer) && Contains(std::strerror(ENAMETOOLONG)));
  CHECK_THROWS_WITH(write(folder.path / "no" / "\xff", "1"),
                    Contains("no/\xff") && Contains(std::strerror(ENOENT)));
  CHECK_THROWS_WITH(write(folder / "new/", "1"), Contains("new/"));
  CHECK(names_in(folder.path).empty());
}

TEST_CASE("a directory is made with its parents, or an error names it", "[files]") {
  const Scratch folder;
  make_directory(folder / "a" / "b");
  make_directory(folder / "a" / "b");
  CHECK(fs::is_directory(folder / "a" / "b"));
  write(folder / "file", "1");
  for (const fs::path& path : {folder / "file", folder / "file" / "inside"}) {
    CHECK_THROWS_AS(make_directory(path), DataError);
    CHECK_THROWS_WITH(make_directory(path), Contains(path.string() + ": cannot create"));
  }
  CHECK_THROWS_AS(make_directory(""), DataError);
}
