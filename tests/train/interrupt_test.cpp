#include "tapegrad/train/interrupt.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

using namespace tapegrad;

TEST_CASE("the second signal ends a program at once, whichever it is") {
  for (const int second : {SIGINT, SIGTERM}) {
    const pid_t child = ::fork();
    if (child == 0) {
      const Interrupt interrupt(/*quiet=*/true);
      std::raise(SIGINT);
      if (interrupt.requested()) std::raise(second);
      ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == second);
  }
}
