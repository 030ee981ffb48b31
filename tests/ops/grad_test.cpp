#include "tapegrad/ops/grad.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "support/values.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/derivatives.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/recompute.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

TEST_CASE("gradients of gradients, and further", "[tape]") {
  const Tape tape;
  const Tensor x = watch(Tensor(2.0));
  Tensor y = pow(x, 4.0);
  for (const double expected : {32.0, 48.0, 48.0, 24.0}) {
    y = grad(y, x, {.record = true});
    CHECK(y.item() == Approx(expected));
  }
}

TEST_CASE("each gradient is announced once it is final, and only then", "[tape]") {
  const bool recorded = GENERATE(false, true);
  const Tape tape;
  const Tensor first = watch(Tensor({2}, {1, 2})), second = watch(Tensor({2}, {3, 4}));
  const Tensor unused = watch(2.0);
  const Tensor middle = first * second, y = sum(square(middle) + second);
  std::vector<std::size_t> order;
  std::vector<Tensor> seen(5);
  const std::vector<Tensor> gradients =
      grad(y, {first, second, middle, unused, first},
           {.record = recorded, .ready = [&](std::size_t position, const Tensor& gradient) {
              order.push_back(position);
              seen[position] = Tensor(gradient.shape(), gradient.values());
            }});
  // `middle` hands its gradient on to the others after it has been announced.
  CHECK(order == std::vector<std::size_t>{2, 1, 0, 4, 3});
  for (std::size_t i = 0; i < gradients.size(); ++i)
    CHECK(values_of(seen[i]) == values_of(gradients[i]));
}

TEST_CASE("gradients leave while the sweep goes on", "[tape]") {
  const Tape tape;
  const Parameter early(Tensor(2)), late(Tensor(3));
  std::vector<std::string> events;
  const Tensor seen =
      probe(early * early, {.gradient = [&](const Tensor&) { events.push_back("rule"); }});
  grad(seen * late, std::vector{early, late}, {.ready = [&](std::size_t position, const Tensor&) {
         events.push_back(position == 0 ? "early" : "late");
       }});
  CHECK(events == std::vector<std::string>{"late", "rule", "early"});
}

TEST_CASE("recomputed blocks announce final gradients as well", "[tape]") {
  const Tape tape;
  const Parameter w(Tensor(3));
  const Function block = [&](const std::vector<Tensor>& in) { return in[0] * w; };
  const Tensor x = watch(2.0);
  std::vector<double> seen;
  const Tensor y = recompute(block, {recompute(block, {x})});  // w^2 x
  grad(y, std::vector{w},
       {.ready = [&](std::size_t, const Tensor& gradient) { seen.push_back(gradient.item()); }});
  CHECK(seen == std::vector<double>{12});
}

TEST_CASE("an error of the announced one's receiver ends the sweep", "[tape]") {
  const Tape tape;
  const Tensor x = watch(2.0);
  CHECK_THROWS_WITH(grad(square(x), std::vector{x},
                         {.ready = [](std::size_t, const Tensor&) { throw Error("full"); }}),
                    "full");
}
