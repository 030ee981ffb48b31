#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <optional>
#include <thread>
#include <type_traits>

#include "tapegrad/core/error.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/derivatives.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/norm.h"
#include "tapegrad/ops/recompute.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using Catch::Contains;

TEST_CASE("a tape lives in a scope and nowhere else", "[tape]") {
  STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<Tape>);
  STATIC_REQUIRE_FALSE(std::is_move_constructible_v<Tape>);
  const Tape tape;
  CHECK_THROWS_WITH(Tape(), Contains("this thread has a tape already"));
  CHECK(Tape::active() == &tape);  // the refused tape left nothing behind
}

TEST_CASE("without a tape nothing is recorded", "[tape]") {
  const Tensor x = ones({2});
  CHECK((x + x).tape_id() == 0);
  const Tape tape;
  CHECK((x + x).tape_id() == 0);  // no input is on the tape
  CHECK((watch(x) + x).tape_id() == tape.id());
  const std::int32_t size = tape.size();
  {
    const NoGrad pause;
    CHECK(Tape::active() == nullptr);
    x + x;
  }
  CHECK(tape.size() == size);
}

TEST_CASE("detached values carry no gradient", "[tape]") {
  const Tape tape;
  const Tensor x = watch(Tensor({2}, {2, 3}));
  const Tensor gradient = grad(sum(x * detach(x)), x);
  CHECK(gradient.values()[0] == 2);
  CHECK(gradient.values()[1] == 3);
  CHECK(detach(x).data() == x.data());
}

TEST_CASE("what is on the tape keeps its history when it is watched", "[tape]") {
  const Parameter weight(Tensor({2}, {2, 3}), "weight");
  const Tape tape;
  const Tensor y = square(watch(weight));
  const Tensor both = grad(sum(watch(y) * y), weight);
  CHECK(both.values()[0] == 4 * 8);
  CHECK(both.values()[1] == 4 * 27);
}

TEST_CASE("NoGrad and tapes that begin or end within it", "[tape]") {
  SECTION("a tape that begins under NoGrad records when that is over") {
    std::optional<NoGrad> pause(std::in_place);
    const Tape tape;
    CHECK_FALSE(recording());
    CHECK_THROWS_WITH(watch(ones({2})), Contains("NoGrad pauses the tape"));
    pause.reset();
    CHECK(recording());
  }
  SECTION("a NoGrad that outlives its tape leaves none behind") {
    std::optional<Tape> tape(std::in_place);
    std::optional<NoGrad> pause(std::in_place);
    tape.reset();
    pause.reset();
    CHECK_FALSE(recording());
  }
  SECTION("a tape that ends on another thread leaves that thread's alone") {
    std::optional<Tape> other;
    std::thread([&] { other.emplace(); }).join();
    const Tape own;
    other.reset();
    CHECK(Tape::active() == &own);
  }
}

TEST_CASE("products and checks under NoGrad leave the tape alone", "[tape]") {
  const Tensor v({2}, {1, -1});
  const auto cube = [](const Tensor& x) { return sum(x * x * x); };
  const TapeOptions keeping{.keep_values = true};
  for (const TapeOptions& options : {TapeOptions(), keeping}) {
    const Tape tape(options);
    const Tensor x = watch(Tensor({2}, {1, 2})), doubled = x * 2.0;
    Tensor kept;
    const Function f = [&](const std::vector<Tensor>& in) {
      return kept = square(in[0]) * doubled;
    };
    const std::int32_t size = tape.size();
    {
      const NoGrad pause;
      const Tensor product = vjp(f, {x}, ones({2}))[0];  // 2 x times 2 x, which is held
      CHECK(product.values()[1] == 16);
      CHECK(product.tape_id() == 0);
      CHECK(hvp(cube, x, v).values()[1] == -12);
      CHECK(jacobian(cube, x).values()[1] == 12);
      CHECK(check_gradient(f, {x}));
      CHECK(check_second_gradient(f, {x}));
      CHECK_FALSE(recording());
    }
    CHECK(tape.size() == size);
    CHECK(tape.flows().empty());
    CHECK(check_second_gradient([](const auto& in) { return sin(in[0]); }, {detach(x)}));
    CHECK_THROWS_WITH(kept + 1.0, Contains("NoGrad"));
    if (options.keep_values) continue;
    CHECK(grad(sum(doubled), x).values()[0] == 2);
    CHECK(tape.size() > size);  // the check without NoGrad is on the tape
  }
}

TEST_CASE("the chain rule in two sweeps", "[tape]") {
  const Tape tape;
  const Tensor x = watch(Tensor(3.0)), h = x * x, z = sin(h);
  const Tensor to_h = grad(z, h);
  CHECK(grad(h, x, {.seed = to_h}).item() == Approx(std::cos(9.0) * 6));
  CHECK_THROWS_WITH(grad(h, x), Contains("mul") && Contains("used up"));
}

TEST_CASE("an x between y and another x hands its gradient on", "[tape]") {
  const Tape tape;
  const Tensor x = watch(Tensor({2, 2}, {1, 2, 3, 4})), h = select(x, 0), z = sum(square(h));
  const std::vector<Tensor> found = grad(z, {h, x});
  CHECK(found[0].values()[1] == 4);
  CHECK(found[1].values()[1] == 4);
}

TEST_CASE("a rule that returns no gradient is named", "[tape]") {
  const Tape tape;
  const Tensor x = watch(Tensor(1.0));
  const Tensor y =
      record("odd", detach(x), Place::here(), edge(x, [](const Tensor&) { return Tensor(); }));
  CHECK_THROWS_WITH(grad(y, x), Contains("the rule of odd") && Contains(" [tape_test.cpp:"));
  CHECK_THROWS_WITH(record("empty", Tensor(), Place::here(), edge(x)), Contains("empty"));
}

TEST_CASE("a tensor of an ended tape is refused on a new one", "[tape]") {
  Tensor carried;
  {
    const Tape tape;
    carried = watch(ones({2})) * 2.0;
  }
  CHECK((carried + carried).values()[0] == 4);  // its value lives on
  const Tape tape;
  CHECK_THROWS_WITH(carried + 1.0, Contains("add: input 0 was recorded on a tape that has ended") &&
                                       Contains("detach()") && Contains(" [tape_test.cpp:"));
  CHECK_NOTHROW(detach(carried) + 1.0);
}

TEST_CASE("a tensor of another thread's tape is refused", "[tape][threads]") {
  const Tape tape;
  const Tensor x = watch(ones({2}));
  std::string message;
  std::thread([&] {
    const Tape own;
    try {
      x + 1.0;
    } catch (const TapeError& error) {
      message = error.what();
    }
  }).join();
  CHECK_THAT(message, Contains("another thread"));
}

TEST_CASE("a second sweep over used rules is refused, unless they are kept", "[tape]") {
  const Tape tape;
  const Tensor x = watch(ones({2}));
  const Tensor y = sum(exp(x));
  CHECK_NOTHROW(grad(y, x, {.keep = true}));
  CHECK_NOTHROW(grad(y, x));
  CHECK_THROWS_WITH(grad(y, x), Contains("used up by an earlier sweep") && Contains(".keep"));
}

TEST_CASE("grad reports what it needs", "[tape]") {
  const Tensor constant = ones({2});
  CHECK_THROWS_WITH(grad(constant, constant), Contains("no tape is in scope"));
  const Tape tape;
  const Tensor x = watch(constant);
  CHECK_THROWS_WITH(grad(x * 2.0, x), Contains("y of shape (2) needs a seed"));
  CHECK_THROWS_WITH(grad(x * 2.0, x, {.seed = ones({3})}), Contains("(3)") && Contains("(2)"));
  CHECK_THROWS_WITH(grad(sum(x), constant), Contains("watch()"));
  CHECK_THROWS_WITH(grad(sum(constant), x), Contains("y was not recorded"));
  const Tensor slope = grad(sum(square(x)), x);
  CHECK_THROWS_WITH(grad(sum(slope), x), Contains(".record = true"));
  CHECK(grad(sum(x), x * 3.0).values()[0] == 0);  // does not depend on it
}

TEST_CASE("only what leads from an x to y is differentiated", "[tape]") {
  const Tape tape;
  const Tensor x = watch(ones({2})), other = watch(ones({2}));
  int seen = 0;
  const Tensor beside = probe(other, {.gradient = [&](const Tensor&) { ++seen; }});
  grad(sum(x * beside), x);
  CHECK(seen == 0);
}

TEST_CASE("a probe sees value and gradient and changes neither", "[tape]") {
  const Tape tape;
  const Tensor x = watch(Tensor({2}, {1, 2}));
  Tensor value, gradient;
  const Tensor y = probe(x, {.value = [&](const Tensor& v) { value = v; },
                             .gradient = [&](const Tensor& g) { gradient = g; }});
  const Tensor dx = grad(sum(square(y)), x);
  CHECK(value.values()[1] == 2);
  CHECK(gradient.values()[1] == 4);
  CHECK(dx.values()[1] == 4);
}

TEST_CASE("an operation with its own gradient can be made outside the library", "[tape]") {
  const auto twice = [](const Tensor& x) {
    return record("twice", 2.0 * detach(x), {}, edge(x, [](const Tensor& g) { return 2.0 * g; }));
  };
  const Tape tape;
  const Tensor x = watch(ones({3}));
  CHECK(grad(sum(square(twice(x))), x).values()[0] == 8);
}

TEST_CASE("a sweep over a million nodes does not recurse", "[tape]") {
  const Tape tape;
  const Tensor x = watch(Tensor(0.0));
  Tensor y = x;
  for (int i = 0; i < 1'000'000; ++i) y = y + x;
  CHECK(grad(y, x).item() == Approx(1'000'001));
}

TEST_CASE("the sentinel names the first operation that is not finite", "[tape]") {
  const Parameter weight(Tensor({2}, {1, 0}), "weight");
  SECTION("forward") {
    const Tape tape({.check_finite = true});
    const Tensor x = Tensor(weight) * 3.0;
    CHECK_THROWS_WITH(log(x), Contains("log: the result is not finite at tape_test.cpp:") &&
                                  Contains("1 not finite") && Contains("input 0: (2) 0 to 3"));
  }
  SECTION("backward") {
    const Tape tape({.check_finite = true});
    const Tensor y = sum(sqrt(weight));
    CHECK_THROWS_WITH(grad(y, std::vector{weight}),
                      Contains("gradient of sqrt: the result is not finite at tape_test.cpp:") &&
                          Contains("input 0: (2) 1 to 1"));
  }
}

TEST_CASE("a tape prints as a numbered program", "[tape]") {
  const Parameter weight(ones({2, 3}), "weight");
  const Tape tape;
  const Tensor x = watch(ones({1, 2}));
  const Tensor y = sum(relu(matmul(x, weight)));
  CHECK_THAT(to_string(tape), Contains("%0 = watch : (1, 2)"));
  CHECK_THAT(to_string(tape), Contains("%1 weight = parameter : (2, 3)"));
  CHECK_THAT(to_string(tape),
             Contains("%2 = matmul %0 %1 : (1, 3)") && Contains("# tape_test.cpp:"));
  CHECK_THAT(to_string(tape), Contains("%4 = sum %3 : ()"));
}

TEST_CASE("a name marks the node of a tensor and adds none", "[tape]") {
  const Tensor outside = named(ones({2}), "outside");  // without a tape
  const Tape tape;
  const Tensor x = named(watch(outside), "x"), y = square(x);
  CHECK(named(y, "y").node() == y.node());
  named(outside, "constant");
  CHECK(tape.size() == 2);
  CHECK(tape.label(x.node()) == "x");
  CHECK_THAT(to_string(tape), Contains("%0 x = watch : (2)") && Contains("%1 y = square %0 : (2)"));
  named(y, "z");
  CHECK(tape.label(y.node()) == "z");
}

TEST_CASE("a tape that keeps values keeps named constants", "[tape]") {
  const Indices labels({2}, {1, 0});
  for (const bool keep_values : {false, true}) {
    const Tape tape({.keep_values = keep_values});
    const Tensor images = named(ones({2, 3}), "images");
    CHECK(named(labels, "labels").data() == labels.data());
    named(watch(images), "node");
    {
      const NoGrad off;
      named(images, "unseen");
    }
    REQUIRE(tape.constants().size() == (keep_values ? 2 : 0));
    if (!keep_values) continue;
    CHECK(tape.constants()[0].name == "images");
    CHECK(tape.constants()[0].tensor.data() == images.data());
    CHECK(tape.constants()[1].name == "labels");
    CHECK(tape.constants()[1].indices.data() == labels.data());
    CHECK(!tape.constants()[1].tensor.defined());
  }
}

TEST_CASE("names end with the nodes that recompute forgets", "[tape]") {
  const Tape tape;
  const Tensor x = watch(ones({2}));
  const Function f = [](const std::vector<Tensor>& in) {
    return named(square(named(exp(in[0]), "inner")), "second");
  };
  const Tensor y = exp(recompute(f, {x}));
  CHECK_THAT(to_string(tape), !Contains("inner") && !Contains("second"));
}

TEST_CASE("a tape that keeps values knows which constants are detached values", "[tape]") {
  for (const bool keep_values : {false, true}) {
    const Tape tape({.keep_values = keep_values});
    const Tensor x = watch(Tensor({2}, {1, 2})), y = square(x);
    const Tensor z = x * detach(y) + 3.0;
    CHECK_THAT(to_string(tape), Contains(keep_values ? "%2 = mul %0 detached %1 : (2)"
                                                     : "%2 = mul %0 constant : (2)"));
    CHECK_THAT(to_string(tape), Contains("%3 = add %2 constant : (2)"));
    CHECK(grad(sum(z), x).values()[1] == 4);
  }
}

TEST_CASE("a tape that keeps values shows values and gradients", "[tape]") {
  const Tape tape({.keep_values = true});
  const Tensor x = watch(Tensor({2}, {1, 2}));
  const Tensor y = square(x), z = sum(y);
  grad(z, x);
  CHECK(tape.value(y.node()).values()[1] == 4);
  CHECK(tape.gradient(y.node()).values()[1] == 1);
  CHECK(tape.gradient(x.node()).values()[1] == 4);
}
