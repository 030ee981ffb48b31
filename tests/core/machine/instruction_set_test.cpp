#include "tapegrad/core/machine/instruction_set.h"

#include <catch2/catch.hpp>
#include <cstdlib>

using namespace tapegrad;

TEST_CASE("operations run with the instruction set that is asked for", "[core]") {
  const char* target = std::getenv("TAPEGRAD_TARGET");
  CHECK(instruction_set() == (target ? target : instruction_set()));
  CHECK_FALSE(instruction_set().empty());
}
