#include "tapegrad/ops/grad.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "support/said.h"
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

TEST_CASE("what y does not depend on has zeros as its gradient, or none if wanted", "[tape]") {
  const std::vector<Parameter> xs{Parameter(ones({2})), Parameter(ones({3}))};
  const Tape tape;
  const Tensor y = sum(xs[0] * 2.0);
  const std::vector<Tensor> filled = grad(y, xs, {.keep = true});
  CHECK(values_of(filled[1]) == std::vector<real>{0, 0, 0});
  std::vector<bool> announced(2);
  const std::vector<Tensor> found =
      grad(y, xs, {.zeros = false, .ready = [&](std::size_t i, const Tensor& gradient) {
                     announced[i] = gradient.defined();
                   }});
  CHECK(values_of(found[0]) == std::vector<real>{2, 2});
  CHECK_FALSE(found[1].defined());
  CHECK(announced == std::vector<bool>{true, false});
}

TEST_CASE("a tape that outlives the steps of a loop is reported, once", "[tape]") {
  const Parameter w(ones({2}));
  const auto train = [&](int steps, int sweeps) {
    return said_by([&] {
      const Tape tape;
      for (int step = 0; step < steps; ++step) {
        const Tensor loss = sum(square(w));
        for (int sweep = 0; sweep < sweeps; ++sweep) grad(loss, std::vector{w}, {.keep = true});
      }
    });
  };
  CHECK(train(1000, 1).empty());
  CHECK(train(10, 200).empty());
  for (int step = 0; step < 1100; ++step) CHECK(train(1, 1).empty());  // a tape for each
  CHECK(train(1001, 1) ==
        "tape: 1000 sweeps over one tape had no operation in common, and it has kept all 2003 of "
        "its nodes; begin a tape in each step, inside of the loop\n");
  CHECK(train(2100, 1).empty());
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
