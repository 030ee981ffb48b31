#include "tapegrad/train/csv.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace tapegrad;

namespace {

std::string line(const std::vector<std::string>& cells) { return csv_line(cells); }

}  // namespace

TEST_CASE("cells of a CSV file are quoted where they need it", "[train]") {
  CHECK(line({"step", "loss", "-1.5e-05"}) == "step,loss,-1.5e-05\n");
  CHECK(line({"", "a", ""}) == ",a,\n");
  CHECK(line({""}) == "\n");
  CHECK(line({"a,b", "say \"c\"", "d\ne", "f\r"}) ==
        "\"a,b\",\"say \"\"c\"\"\",\"d\ne\",\"f\r\"\n");
}
