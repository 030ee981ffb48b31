// A program of a user: everything of this library, of the standard library and a common alias,
// without a qualification.
#include <tapegrad/tapegrad.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

using namespace std;
using namespace tapegrad;
using json = nlohmann::json;

TEST_CASE("names stand beside other libraries' names", "[names]") {
  Tape tape;
  const Tensor x = watch(Tensor({2, 2}, {1, 2, 3, 4}));
  const Tensor y = sum(pow(max(abs(exp(log(sqrt(square(x))))), 1), 2.0)) + norm(x) - min(x);
  const json exported = json::parse(as_json(tape));
  CHECK(exported.at("nodes").size() > 8);
  CHECK_THAT(as_dot(tape), Catch::StartsWith("digraph"));
  CHECK(grad(y, x).shape() == Shape{2, 2});
  CHECK(sort(x).values.shape() == x.shape());
  vector<Tensor> total;
  accumulate(total, {x});
  CHECK(total.size() == 1);
}
