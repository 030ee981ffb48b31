#include "tapegrad/core/printable.h"

#include <catch2/catch.hpp>
#include <string>

using namespace tapegrad;

TEST_CASE("words of a file are quoted in brief", "[files]") {
  CHECK(beginning("weight") == "weight");
  CHECK(beginning(std::string(100, 'n')) == std::string(100, 'n'));
  CHECK(beginning(std::string(101, 'n')) == std::string(100, 'n') + "...");
  CHECK(beginning("\x1b[2J\r\nerased\x7f") == "?[2J??erased?");
  CHECK(beginning("\xc2\x9b"
                  "2J") == "?2J");  // U+009B, as ESC [
  std::string accents = "n";
  for (int i = 0; i < 80; ++i) accents += "\xc3\xa9";
  CHECK(beginning(accents) == accents.substr(0, 99) + "...");  // no half of a character
}

TEST_CASE("what a terminal would obey is not printable", "[files]") {
  CHECK(printable_lines("a\tb\nc\r") == "a\tb\nc?");
  CHECK(printable("\x9b"
                  "2J") == "?2J");  // no UTF-8
  CHECK(printable("\xc2\xa0\xc4\x9b\xe2\x80\x9b") ==
        "\xc2\xa0\xc4\x9b\xe2\x80\x9b");                                 // has such bytes
  CHECK(printable("\xe4\xf6\xfc\xe9t\xe9") == "\xe4\xf6\xfc\xe9t\xe9");  // Latin-1
  CHECK(printable(std::string_view("\0\x1b\xc2", 3)) == "??\xc2");
}

TEST_CASE("a character that is cut is not whole", "[files]") {
  CHECK(whole_characters("") == 0);
  CHECK(whole_characters("ab") == 2);
  CHECK(whole_characters("a\xc3\xa9") == 3);
  CHECK(whole_characters("a\xc3") == 1);
  CHECK(whole_characters("a\xf0\x9f\x98") == 1);
  CHECK(whole_characters("a\xf0\x9f\x98\x80") == 5);
  CHECK(whole_characters("\xe9"
                         "a") == 2);  // no UTF-8
  CHECK(whole_characters("a\x80") == 2);
}
