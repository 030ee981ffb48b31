#include "tapegrad/core/beginning.h"

#include <catch2/catch.hpp>
#include <string>

using namespace tapegrad;

TEST_CASE("what a file says is quoted in brief", "[files]") {
  CHECK(beginning("weight") == "weight");
  CHECK(beginning(std::string(100, 'n')) == std::string(100, 'n'));
  CHECK(beginning(std::string(101, 'n')) == std::string(100, 'n') + "...");
  CHECK(beginning("\x1b[2J\r\nerased\x7f") == "?[2J??erased?");
  std::string accents = "n";
  for (int i = 0; i < 80; ++i) accents += "\xc3\xa9";
  CHECK(beginning(accents) == accents.substr(0, 99) + "...");  // no half of a character
}
