#include "tapegrad/train/file_lock.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "support/files.h"
#include "support/scratch.h"

using namespace tapegrad;
using namespace tapegrad::testing;
namespace fs = std::filesystem;

TEST_CASE("a file or a directory is held by one at a time, and free after the end of its process") {
  const Scratch folder;
  for (const fs::path& path : {folder.path, folder / "x.lock"}) {
    CAPTURE(path);
    {
      const FileLock mine(path);
      CHECK(mine.is_held());
      const FileLock other(path);
      CHECK_FALSE(other.is_held());
      CHECK(other.error() == 0);
    }
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const FileLock lock(path);
      const char held = lock.is_held() ? 'y' : 'n';
      while (::write(ready[1], &held, 1) == 1) ::pause();
      std::_Exit(1);
    }
    char held = 0;
    CHECK(::read(ready[0], &held, 1) == 1);
    CHECK(held == 'y');
    CHECK_FALSE(FileLock(path).is_held());
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    for (const int end : ready) ::close(end);
    CHECK(FileLock(path).is_held());
  }
  CHECK(fs::is_directory(folder.path));
  CHECK_FALSE(fs::exists(folder / "x.lock"));
}

TEST_CASE("a lock removes no file with a content, and follows no link") {
  const Scratch folder;
  write_file(folder / "x.lock", bytes_of({1}));
  CHECK(FileLock(folder / "x.lock").is_held());
  CHECK(bytes_in(folder / "x.lock") == bytes_of({1}));
  fs::create_symlink("x", folder / "link.lock");
  CHECK(FileLock(folder / "link.lock").error() == ELOOP);
  CHECK_FALSE(fs::exists(folder / "x"));
  CHECK(FileLock(folder / "missing" / "x.lock").error() == ENOENT);
}
