#include "tapegrad/core/range.h"

#include <catch2/catch.hpp>

#include "support/values.h"

using namespace tapegrad;
using namespace tapegrad::testing;

TEST_CASE("a range spans the finite values", "[tensor]") {
  const Range found = range(Tensor({5}, {3, -infinity, -1, no_number, 4}));
  CHECK(found.least == -1);
  CHECK(found.greatest == 4);
  CHECK(found.mean == 2);
  CHECK(found.non_finite == 2);
  CHECK(to_string(found) == "-1 to 4, mean 2, 2 not finite");
  CHECK(to_string(range(Tensor(2.5))) == "2.5 to 2.5, mean 2.5");
}

TEST_CASE("without finite values there is no range", "[tensor]") {
  CHECK(to_string(range(full({2}, infinity))) == "no finite value, 2 not finite");
  CHECK(to_string(range(zeros({0}))) == "no finite value, 0 not finite");
}
